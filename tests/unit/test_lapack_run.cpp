// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "compare/lapack_run.hpp"
#include "core/clock.hpp"
#include "core/numbers.hpp"

namespace speedwell::test::lapack_run_tests {
TEST_CASE("LAPACK takes part where it fits") {
  REQUIRE(has_lapack());
  // A, the copies of A and x that each driver makes, and its b, x and residuals.
  const std::int64_t n = 1000;
  for (const std::int64_t rhs : {1, 300, 5000})
    for (const auto& [driver, bytes] :
         {std::pair(LapackDriver::dgesv, 8 * n * n + 8 * n * rhs),
          std::pair(LapackDriver::dsgesv, 12 * n * n + (8 + 8 + 8 + 4) * n * rhs),
          std::pair(LapackDriver::dgesvx, 16 * n * n + 16 * n * rhs)}) {
      const auto needed = static_cast<double>(bytes);
      CHECK(lapack_bytes(driver, n, rhs) == needed);
      CHECK(lapack_workspace(driver, n, rhs) == bytes - 8 * n * (n + rhs));
      CHECK(lapack_obstacle(driver, n, rhs, needed).empty());
      CHECK_THAT(lapack_obstacle(driver, n, rhs, needed - 1), ContainsSubstring("GiB"));
    }
  constexpr auto huge = std::numeric_limits<std::int64_t>::max();
  CHECK_FALSE(lapack_obstacle(LapackDriver::dgesv, huge, 1, 1e18).empty());
  CHECK_FALSE(lapack_obstacle(LapackDriver::dsgesv, 1, huge, 1e18).empty());
}

TEST_CASE("LAPACK's drivers solve, and say where they do not") {
  REQUIRE(has_lapack());
  for (const LapackDriver driver :
       {LapackDriver::dgesv, LapackDriver::dsgesv, LapackDriver::dgesvx}) {
    const auto solved = [&](std::vector<double> a, std::vector<double> b) {
      const std::int64_t n = 2;
      const std::int64_t rhs = std::ssize(b) / n;
      std::vector<std::byte> memory(static_cast<std::size_t>(lapack_workspace(driver, n, rhs)));
      const LapackOutcome outcome =
          solve_by_lapack<double>(driver, {a.data(), n, n, n}, {b.data(), n, rhs, n}, memory);
      return std::pair(outcome, b);
    };
    const auto [fine, x] = solved({1, 3, 2, 4}, {5, 11});
    CHECK(fine.info == 0);
    CHECK(x[0] == Approx(1).epsilon(1e-14));
    CHECK(x[1] == Approx(2).epsilon(1e-14));
    const auto several = solved({1, 3, 2, 4}, {5, 11, 1, 3, 0, 2}).second;
    const std::vector<double> exact{1, 2, 1, 0, 2, -1};
    for (std::size_t i = 0; i < exact.size(); ++i) CHECK(std::abs(several[i] - exact[i]) < 1e-14);
    CHECK(solved({1, 2, 2, 4}, {1, 1}).first.info == 2);
    const LapackOutcome nearly = solved({1, 1, 1, 1 + 0x1p-52}, {1, 1}).first;
    // dgesvx estimates the condition number; dsgesv gives up its FP32 factors, which are singular.
    CHECK(nearly.info == (driver == LapackDriver::dgesvx ? 3 : 0));
    CHECK((nearly.rcond < eps) == (driver == LapackDriver::dgesvx));
    CHECK((nearly.iterations < 0) == (driver == LapackDriver::dsgesv));
  }
}

TEST_CASE("what LAPACK says decides whether it has solved") {
  DenseSystem system;
  system.n = 2;
  system.fill = [](MatrixView<double> a) { std::fill_n(a.data, 4, 1); };
  system.right_hand_sides = [] { return std::vector<double>{1, 1}; };
  system.residual = [](const std::vector<double>&) { return 0.25; };
  const SteadyClock clock;
  const auto run = [&](LapackDriver driver) {
    return lapack_run(driver, system, 1, RunContext(clock));
  };
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

TEST_CASE("where x is known, LAPACK is judged by its error") {
  CHECK(largest_error(std::vector<double>{1, -0.5}, std::vector<double>{1, -1}) == 0.5);
  CHECK(largest_error(std::vector<double>{unknown, 0}, std::vector<double>{1, 1}) == HUGE_VAL);
  DenseSystem system;
  system.n = 2;
  system.fill = [](MatrixView<double> a) {
    std::ranges::copy(std::vector<double>{1, 3, 2, 4}, a.data);
  };
  system.right_hand_sides = [] { return std::vector<double>{5, 11}; };
  system.solution = {1, 2.5};  // it is (1, 2)
  const SteadyClock clock;
  for (const LapackDriver driver :
       {LapackDriver::dgesv, LapackDriver::dsgesv, LapackDriver::dgesvx}) {
    const Turn turn = lapack_run(driver, system, 1, RunContext(clock));
    CHECK(std::isnan(turn.scaled_residual));
    CHECK((turn.x_is_known && turn.passed()));
    CHECK(turn.error == Approx(0.5));
    const bool expert = driver == LapackDriver::dgesvx;
    CHECK((turn.bound > 0 && turn.bound < 1e-12) == expert);
    CHECK((turn.condition > 1 && turn.condition < 100) == expert);
  }
  system.fill = [](MatrixView<double> a) { std::fill_n(a.data, 4, 1); };
  const Turn singular = lapack_run(LapackDriver::dgesv, system, 1, RunContext(clock));
  CHECK_FALSE(singular.passed());
  CHECK((singular.x_is_known && std::isnan(singular.error)));
}

TEST_CASE("a driver that this LAPACK lacks takes no part, and says so") {
  for (const Field field : {Field::real, Field::complex}) {
    const bool here = has_lapack(LapackDriver::dgesvxx, field);
    const std::string why = lapack_obstacle(LapackDriver::dgesvxx, 2, 1, 1e9, field);
    CHECK(why.empty() == here);
    if (!here) CHECK_THAT(why, ContainsSubstring("XBLAS"));
    CHECK(has_lapack(LapackDriver::dgesvx, field));
  }
  if (has_lapack(LapackDriver::dgesvxx, Field::real)) return;
  std::vector<double> one{1};
  std::vector<std::byte> memory(64);
  CHECK_THROWS_AS(solve_by_lapack<double>(LapackDriver::dgesvxx, {one.data(), 1, 1, 1},
                                          {one.data(), 1, 1, 1}, memory),
                  Fault);
}
}  // namespace speedwell::test::lapack_run_tests
