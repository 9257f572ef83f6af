// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The shape of the P x Q process grid and the numbers of its ranks. Pure.
#pragma once

#include <speedwell/options.hpp>

namespace speedwell {

/// A process's row and column in the grid, 0-based.
struct GridPosition {
  int row = 0;
  int column = 0;
};

struct GridShape {
  int nprow = 1;  ///< P
  int npcol = 1;  ///< Q
  GridOrder order = GridOrder::row;

  bool operator==(const GridShape&) const = default;
  int size() const { return nprow * npcol; }
  GridPosition position(int rank) const {
    return order == GridOrder::row ? GridPosition{rank / npcol, rank % npcol}
                                   : GridPosition{rank % nprow, rank / nprow};
  }
  int rank(GridPosition p) const {
    return order == GridOrder::row ? p.row * npcol + p.column : p.column * nprow + p.row;
  }
};

/// The P x Q grid of `ranks` ranks that is closest to a square, with P <= Q: P is the largest
/// divisor of `ranks` that does not exceed its square root.
GridShape squarest(int ranks, GridOrder order);

}  // namespace speedwell
