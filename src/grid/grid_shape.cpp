// SPDX-License-Identifier: BSD-3-Clause
#include "grid/grid_shape.hpp"

namespace speedwell {

GridShape squarest(int ranks, GridOrder order) {
  int nprow = 1;
  for (int p = 1; p <= ranks / p; ++p)
    if (ranks % p == 0) nprow = p;
  return {nprow, ranks / nprow, order};
}

}  // namespace speedwell
