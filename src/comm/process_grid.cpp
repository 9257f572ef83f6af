// SPDX-License-Identifier: BSD-3-Clause
#include "comm/process_grid.hpp"

#include <speedwell/error.hpp>

#include <string>

namespace speedwell {

namespace {

GridShape checked(GridShape shape, int ranks) {
  const std::string grid =
      "process grid " + std::to_string(shape.nprow) + " x " + std::to_string(shape.npcol);
  if (shape.nprow < 1 || shape.npcol < 1)
    throw UsageError(grid + ": rows and columns must be at least 1");
  const std::int64_t needed = std::int64_t{shape.nprow} * shape.npcol;
  if (needed != ranks)
    throw UsageError(grid + " needs " + std::to_string(needed) + " ranks, but " +
                     std::to_string(ranks) + " are running");
  return shape;
}

}  // namespace

ProcessGrid::ProcessGrid(const Communicator& all, GridShape shape)
    : shape_(checked(shape, all.size())),
      me_(shape.position(all.rank())),
      all_(all.duplicate()),
      row_(all.split(me_.row, me_.column)),
      column_(all.split(me_.column, me_.row)) {}

ProcessGrid::ProcessGrid(const ProcessGrid& made, const RunContext& run)
    : shape_(made.shape_),
      me_(made.me_),
      all_(made.all_.in(run)),
      row_(made.row_.in(run)),
      column_(made.column_.in(run)) {}

Distribution ProcessGrid::rows(std::int64_t n, std::int64_t nb) const {
  return {n, nb, shape_.nprow, me_.row};
}

Distribution ProcessGrid::columns(std::int64_t n, std::int64_t nb) const {
  return {n, nb, shape_.npcol, me_.column};
}

}  // namespace speedwell
