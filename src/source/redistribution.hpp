// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Moves a block-cyclic matrix into another block-cyclic distribution on the same process grid.
#pragma once

#include "comm/process_grid.hpp"
#include "core/matrix_view.hpp"
#include "grid/overlap.hpp"
#include "source/part_writer.hpp"

namespace speedwell {

/// A block-cyclic distribution of a matrix.
struct CyclicMatrix {
  CyclicDimension rows;     ///< over the process rows
  CyclicDimension columns;  ///< over the process columns
};

/// a <- this rank's part of the matrix in the distribution `to`. Every rank sends the others what
/// they hold of its own part, which is distributed as `from` says. Three buffers, each of at most
/// 4 MiB or one local column of `to`, are nearly all the memory that it needs. Collective.
/// @param part this rank's part in `from`
/// @pre `from` and `to` are of the same size and on the grid's processes
/// @throws UsageError, AgreedFault: the same error on every rank
void redistribute(const ProcessGrid& grid, const CyclicMatrix& from, MatrixView<const double> part,
                  const CyclicMatrix& to, PartWriter& a);

}  // namespace speedwell
