// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "core/numbers.hpp"

namespace speedwell::test::numbers_tests {
TEST_CASE("divisions that round up agree with their definition and do not overflow") {
  for (std::int64_t b = 1; b <= 9; ++b)
    for (std::int64_t a = 0; a <= 40; ++a) {
      std::int64_t expected = 0;
      while (expected * b < a) ++expected;
      CAPTURE(a, b);
      CHECK(ceil_div(a, b) == expected);
      CHECK(round_up(a, b) == expected * b);
    }
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(ceil_div(most, 1) == most);
  CHECK(ceil_div(most, 2) == most / 2 + 1);
  CHECK(ceil_div(most, most) == 1);
  CHECK(ceil_div(most - 1, most) == 1);
}

TEST_CASE("the unit roundoff of FP64 is 2^-53, and an unknown number is NaN") {
  CHECK(1 + eps == 1.0);
  CHECK(1 + 2 * eps > 1.0);
  CHECK(std::isnan(unknown));
}
}  // namespace speedwell::test::numbers_tests
