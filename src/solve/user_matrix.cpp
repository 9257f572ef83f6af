// SPDX-License-Identifier: BSD-3-Clause
#include "solve/user_matrix.hpp"

#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "solve/part_writer.hpp"

namespace lupine {

UserMatrix::UserMatrix(const ProcessGrid& grid, Device& device, const MatrixSource& source,
                       std::int64_t nb)
    : rows_(grid.rows(source.n(), nb)), columns_(grid.columns(source.n(), nb)) {
  if (device.shares_host_memory())
    if (const auto there = source.in_place(grid, rows_, columns_)) {
      local_ = *there;
      return;
    }
  std::optional<PartWriter> part;
  agree(grid.all(), [&] {
    copy_.emplace(device, rows_, columns_, Precision::fp64);
    local_ = copy_->local();
    part.emplace(device, copy_->local().as<double>());
  });
  source.fill(grid, rows_, columns_, *part);
  stop_if_interrupted(grid.all(), device.interrupt());
}

}  // namespace lupine
