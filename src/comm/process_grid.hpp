// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The P x Q grid with its communicators.
#pragma once

#include "comm/communicator.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"

namespace lupine {

class ProcessGrid {
 public:
  /// Collective. @throws UsageError (every rank) unless shape.size() == all.size()
  ProcessGrid(const Communicator& all, GridShape shape);

  const Communicator& all() const { return all_; }
  /// This rank's process row: Q ranks, rank = grid column.
  const Communicator& row() const { return row_; }
  /// This rank's process column: P ranks, rank = grid row.
  const Communicator& column() const { return column_; }
  GridShape shape() const { return shape_; }
  GridPosition me() const { return me_; }

  /// How rows (columns) of an n x n matrix in nb x nb blocks lie on the grid.
  Distribution rows(std::int64_t n, std::int64_t nb) const;
  Distribution columns(std::int64_t n, std::int64_t nb) const;

 private:
  GridShape shape_;
  GridPosition me_;
  Communicator all_;
  Communicator row_;
  Communicator column_;
};

}  // namespace lupine
