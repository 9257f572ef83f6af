// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The P x Q process grid with its communicators.
#pragma once

#include "comm/communicator.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"

namespace speedwell {

/// The process grid as this rank sees it, with communicators of its own.
class ProcessGrid {
 public:
  /// Collective. @throws UsageError on every rank unless P >= 1, Q >= 1 and P Q == all.size()
  ProcessGrid(const Communicator& all, GridShape shape);
  /// The communicators of `made`, which must live as long, in another run. Not collective.
  ProcessGrid(const ProcessGrid& made, const RunContext& run);

  /// All P Q ranks of the grid, numbered as in the constructor's `all`.
  const Communicator& all() const { return all_; }
  /// This rank's process row: Q ranks, rank = grid column.
  const Communicator& row() const { return row_; }
  /// This rank's process column: P ranks, rank = grid row.
  const Communicator& column() const { return column_; }
  GridShape shape() const { return shape_; }
  /// This rank's position in the grid.
  GridPosition me() const { return me_; }

  /// How n rows in blocks of nb lie on the process rows, and n columns on the process columns, seen
  /// by this rank. Not collective.
  Distribution rows(std::int64_t n, std::int64_t nb) const;
  Distribution columns(std::int64_t n, std::int64_t nb) const;

 private:
  GridShape shape_;
  GridPosition me_;
  Communicator all_;
  Communicator row_;
  Communicator column_;
};

}  // namespace speedwell
