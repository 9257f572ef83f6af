#include "grid/grid_shape.hpp"

namespace lupine {

GridShape squarest(int ranks, GridOrder order) {
  int rows = 1;
  for (int p = 1; p <= ranks / p; ++p)
    if (ranks % p == 0) rows = p;
  return {rows, ranks / rows, order};
}

}  // namespace lupine
