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
  int rows = 1;     ///< P
  int columns = 1;  ///< Q
  GridOrder order = GridOrder::row;

  int size() const { return rows * columns; }
  GridPosition position(int rank) const {
    return order == GridOrder::row ? GridPosition{rank / columns, rank % columns}
                                   : GridPosition{rank % rows, rank / rows};
  }
  int rank(GridPosition p) const {
    return order == GridOrder::row ? p.row * columns + p.column : p.column * rows + p.row;
  }
};

/// The squarest grid of `ranks` ranks: P the largest divisor not above the square root, Q >= P.
GridShape squarest(int ranks, GridOrder order);

}  // namespace lupine
