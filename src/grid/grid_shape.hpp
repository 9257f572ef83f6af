// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The P x Q grid of ranks: numbering, pure.
#pragma once

#include <lupine/options.hpp>

namespace lupine {

struct GridPosition {
  int row = 0;
  int column = 0;
};

struct GridShape {
  int nprow = 1;  ///< P
  int npcol = 1;  ///< Q
  GridOrder order = GridOrder::row;

  int size() const { return nprow * npcol; }
  GridPosition position(int rank) const {
    return order == GridOrder::row ? GridPosition{rank / npcol, rank % npcol}
                                   : GridPosition{rank % nprow, rank / nprow};
  }
  int rank(GridPosition p) const {
    return order == GridOrder::row ? p.row * npcol + p.column : p.column * nprow + p.row;
  }
};

/// The squarest grid of `ranks` ranks: P the largest divisor not above the square root, Q >= P.
GridShape squarest(int ranks, GridOrder order);

}  // namespace lupine
