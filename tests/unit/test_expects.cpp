// SPDX-License-Identifier: BSD-3-Clause
// tests/expects tests violated preconditions in a program that always checks them.
#include "catch.hpp"
#include "core/expects.hpp"

namespace speedwell::test::expects_tests {
TEST_CASE("a build without checks does not evaluate preconditions", "[expects]") {
  int evaluated = 0;
  const auto holds = [&] { return ++evaluated > 0; };
  SPEEDWELL_EXPECTS(holds());
  CHECK(evaluated == (checks_preconditions ? 1 : 0));
}
}  // namespace speedwell::test::expects_tests
