// SPDX-License-Identifier: BSD-3-Clause
#include "bench/step_window.hpp"
#include "catch.hpp"

namespace speedwell::test::step_window_tests {
namespace {

std::optional<StepWindow> window(std::int64_t n, std::int64_t nb, int lookahead, bool overlaps,
                                 std::int64_t columns) {
  const Distribution all(n, nb, 1, 0);
  return step_window(StepSequence(all, all, nb), n, lookahead, overlaps, columns);
}

double operations(double m) {
  return 2. / 3 * m * m * m;
}

}  // namespace

TEST_CASE("the number of timed columns does not depend on the look-ahead") {
  for (const int lookahead : {0, 1})
    for (const bool overlaps : {false, true}) {
      CAPTURE(lookahead, overlaps);
      const auto steps = window(1000, 10, lookahead, overlaps, 100);
      REQUIRE(steps);
      CHECK(steps->first == lookahead + 1);
      CHECK(steps->last == steps->first + 10);
      // Order of the part that no panel has updated completely when the window begins: where queues
      // run side by side, one panel fewer has been applied.
      const double left = overlaps ? 990 : 980;
      CHECK(steps->operations == Approx(operations(left) - operations(left - 100)));
    }
}

TEST_CASE("the window consists of whole steps") {
  const auto steps = window(1000, 30, 1, false, 100);
  REQUIRE(steps);
  CHECK(steps->last == steps->first + 4);
  CHECK(steps->operations == Approx(operations(940) - operations(820)));
}

TEST_CASE("a matrix of few blocks has no window") {
  CHECK_FALSE(window(1, 1, 0, false, 1));
  CHECK_FALSE(window(1000, 1000, 0, false, 10));
  CHECK_FALSE(window(1000, 350, 1, false, 350));
  CHECK(window(1000, 250, 1, false, 250));
  CHECK_FALSE(window(1000, 10, 1, false, 1000));
}
}  // namespace speedwell::test::step_window_tests
