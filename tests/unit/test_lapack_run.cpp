// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include "bench/lapack_run.hpp"
#include "catch.hpp"
#include "core/clock.hpp"
#include "core/numbers.hpp"

using namespace lupine;

TEST_CASE("LAPACK takes part where it fits") {
  REQUIRE(has_lapack());
  CHECK(lapack_obstacle(LapackDriver::dgesv, 1000, 8e6).empty());
  CHECK_THAT(lapack_obstacle(LapackDriver::dgesv, 1000, 7.9e6), ContainsSubstring("GiB"));
  CHECK(lapack_obstacle(LapackDriver::dsgesv, 1000, 12.1e6).empty());
  CHECK_FALSE(lapack_obstacle(LapackDriver::dsgesv, 1000, 11.9e6).empty());
  CHECK(lapack_obstacle(LapackDriver::dgesvx, 1000, 16e6).empty());
  CHECK_FALSE(lapack_obstacle(LapackDriver::dgesvx, 1000, 15.9e6).empty());
  for (const LapackDriver driver :
       {LapackDriver::dgesv, LapackDriver::dsgesv, LapackDriver::dgesvx})
    CHECK(lapack_bytes(driver, 100) == static_cast<double>(80000 + lapack_workspace(driver, 100)));
  CHECK_FALSE(
      lapack_obstacle(LapackDriver::dgesv, std::numeric_limits<std::int64_t>::max(), 1e18).empty());
}

TEST_CASE("LAPACK's drivers solve, and say where they do not") {
  REQUIRE(has_lapack());
  for (const LapackDriver driver :
       {LapackDriver::dgesv, LapackDriver::dsgesv, LapackDriver::dgesvx}) {
    const auto solved = [&](std::vector<double> a, std::vector<double> b) {
      std::vector<double> memory(4);  // more than any driver needs
      const auto n = std::ssize(b);
      const LapackOutcome outcome = solve_by_lapack(driver, {a.data(), n, n, n}, b,
                                                    std::as_writable_bytes(std::span(memory)));
      return std::pair(outcome, b);
    };
    const auto [fine, x] = solved({1, 3, 2, 4}, {5, 11});
    CHECK(fine.info == 0);
    CHECK(x[0] == Approx(1).epsilon(1e-14));
    CHECK(x[1] == Approx(2).epsilon(1e-14));
    CHECK(solved({1, 2, 2, 4}, {1, 1}).first.info == 2);
    const LapackOutcome nearly = solved({1, 1, 1, 1 + 0x1p-52}, {1, 1}).first;
    // dgesvx estimates the condition number; dsgesv gives up its FP32 factors, which are singular.
    CHECK(nearly.info == (driver == LapackDriver::dgesvx ? 3 : 0));
    CHECK((nearly.rcond < eps) == (driver == LapackDriver::dgesvx));
    CHECK((nearly.iterations < 0) == (driver == LapackDriver::dsgesv));
  }
}

TEST_CASE("what LAPACK says decides whether it has solved") {
  LapackSystem system;
  system.n = 2;
  system.fill = [](MatrixView<double> a) { std::fill_n(a.data, 4, 1); };
  system.right_hand_side = [] { return std::vector<double>{1, 1}; };
  system.residual = [](const std::vector<double>&) { return 0.25; };
  const SteadyClock clock;
  const auto run = [&](LapackDriver driver) { return lapack_run(driver, system, 1, clock); };
  CHECK_THAT(run(LapackDriver::dgesv).failure, ContainsSubstring("pivot 1 (from 0) is zero"));
  CHECK(std::isnan(run(LapackDriver::dgesv).scaled_residual));
  system.fill = [](MatrixView<double> a) {
    std::fill_n(a.data, 4, 1);
    a(1, 1) += 0x1p-52;
  };
  const Turn expert = run(LapackDriver::dgesvx);
  CHECK((expert.passed() && expert.scaled_residual == 0.25 && expert.seconds > 0));
  CHECK_THAT(expert.note, ContainsSubstring("singular to working precision"));
  CHECK_THAT(run(LapackDriver::dsgesv).failure, ContainsSubstring("iter = -"));
  system.may_fall_back = true;
  CHECK(run(LapackDriver::dsgesv).passed());
  CHECK_THAT(run(LapackDriver::dsgesv).note, ContainsSubstring("iter = -"));
  system.residual = [](const std::vector<double>&) { return 17; };
  CHECK_THAT(run(LapackDriver::dsgesv).failure, ContainsSubstring("residual 17"));
}

TEST_CASE("a residual fails at the threshold or if it is NaN; a threshold of 0 does not apply") {
  CHECK(residual_failure(1, 16).empty());
  CHECK_FALSE(residual_failure(16, 16).empty());
  CHECK_FALSE(residual_failure(unknown, 16).empty());
  CHECK(residual_failure(100, 0).empty());
}
