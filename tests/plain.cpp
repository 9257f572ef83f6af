// SPDX-License-Identifier: BSD-3-Clause
// The loop in which suites spend most of their time: it alone is compiled to be fast.
#include "plain.hpp"

namespace speedwell::test {

Plain product(const Plain& a, const Plain& b) {
  Plain c(a.rows, b.columns);
  for (std::int64_t j = 0; j < b.columns; ++j)
    for (std::int64_t k = 0; k < a.columns; ++k)
      if (const double factor = b(k, j); factor != 0)
        for (std::int64_t i = 0; i < a.rows; ++i) c(i, j) += a(i, k) * factor;
  return c;
}

}  // namespace speedwell::test
