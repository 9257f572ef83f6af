// SPDX-License-Identifier: BSD-3-Clause
#include <cmath>
#include <cstdint>
#include <limits>

#include "catch.hpp"
#include "core/array_size.hpp"
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

TEST_CASE("arrays can be counted up to 2^63 - 1 bytes, and sizes beyond do not overflow") {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(is_countable(most / 8, 1, 8));
  CHECK_FALSE(is_countable(most / 8 + 1, 1, 8));
  CHECK(is_countable(1, most / 8, 8));
  CHECK_FALSE(is_countable(1, most / 8 + 1, 8));
  CHECK_FALSE(is_countable(std::int64_t{1} << 40, std::int64_t{1} << 40, 8));
  CHECK_FALSE(is_countable(most, most, 16));
  CHECK(is_countable(most, 0, 8));
  CHECK(is_countable(0, most, 8));
}

TEST_CASE("the unit roundoff of FP64 is 2^-53, and an unknown number is NaN") {
  CHECK(1 + eps == 1.0);
  CHECK(1 + 2 * eps > 1.0);
  CHECK(std::isnan(unknown));
}
}  // namespace speedwell::test::numbers_tests
