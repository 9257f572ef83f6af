// SPDX-License-Identifier: BSD-3-Clause
// Systems that mislead: numbers at the ends of FP64's range, entries that grow, singular values
// that factors do not know. Each x is compared with a solution that is known by construction.
#include <mpi.h>
#include <speedwell/solve.hpp>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/process_grid.hpp"
#include "core/numbers.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"

namespace speedwell::test::doubts_tests {
namespace {

std::vector<GridShape> shapes() {
  return grids(Communicator::duplicate(MPI_COMM_WORLD).size());
}

double wilkinson(std::int64_t n, std::int64_t i, std::int64_t j) {
  return j == n - 1 || i == j ? 1. : i > j ? -1. : 0.;
}

/// x_j = 1 + j / 64, whose products with -1, 0 and 1 and their sums are exact.
double known(std::int64_t j) {
  return 1 + static_cast<double>(j % 64) / 64;
}

RightHandSide wilkinson_times_known(std::int64_t n) {
  return RightHandSide::from_function(1, [n](std::int64_t i, std::int64_t) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += wilkinson(n, i, j) * known(j);
    return sum;
  });
}

double error(const Solution& s) {
  double most = 0;
  for (std::size_t j = 0; j < s.x.size(); ++j)
    most = std::max(most, std::fabs(s.x[j] - known(static_cast<std::int64_t>(j))));
  return most / 2;
}

}  // namespace

TEST_CASE("numbers at the ends of FP64's range are solved as others are", "[solve][doubt]") {
  const double top = std::numeric_limits<double>::max();
  const double bottom = std::numeric_limits<double>::denorm_min();
  struct Case {
    const char* what;
    std::int64_t n;
    ElementFunction a;
    ElementFunction b;
    ElementFunction x;
  };
  const auto one = [](auto, auto) { return 1.; };
  const auto diagonal = [](const auto& d) {
    return [d](std::int64_t i, std::int64_t j) { return i == j ? d(i) : 0.; };
  };
  const auto ends = [=](std::int64_t i) { return i % 2 == 0 ? top : bottom; };
  const std::vector<Case> cases{
      {"largest", 20, diagonal([=](auto) { return top; }), [=](auto, auto) { return top; }, one},
      {"smallest", 20, diagonal([=](auto) { return bottom; }), [=](auto, auto) { return bottom; },
       one},
      {"both", 20, diagonal(ends), [=](auto i, auto) { return ends(i); }, one},
      {"two exponents", 2,
       [](auto i, auto j) { return i == 0 ? (j == 0 ? 1e-200 : 0.) : (j == 0 ? 1. : 1e-220); },
       [](auto i, auto) { return i == 0 ? 1e-200 : 2.; },
       [](auto i, auto) { return i == 0 ? 1. : 1e220; }},
      {"tiny row", 30,
       [](auto i, auto j) { return std::ldexp(i == j ? 8. : 1., i == 3 ? -1010 : 0); },
       [](auto i, auto) { return std::ldexp(37., i == 3 ? -1010 : 0); }, one}};
  for (const GridShape shape : shapes())
    for (const Case& c : cases)
      for (const Precision precision : {Precision::automatic, Precision::bf16, Precision::fp64}) {
        CAPTURE(shape.nprow, shape.npcol, c.what, name(precision));
        const Solution s =
            solve(MPI_COMM_WORLD, Matrix::from_function(c.n, c.a),
                  RightHandSide::from_function(1, c.b), options(shape, 4, precision));
        CHECK(s.doubt.empty());
        for (std::int64_t i = 0; i < c.n; ++i)
          CHECK(s.x[static_cast<std::size_t>(i)] == Approx(c.x(i, 0)).epsilon(1e-14));
        // FP16's bound has what underflow may have taken from its factors.
        CHECK(s.columns[0].forward_bound < (s.precision() == Precision::fp16 ? 1e-8 : 1e-12));
        CHECK(s.columns[0].backward_error < 1e-15);
      }
}

TEST_CASE("where entries grow, rotations solve what LAPACK cannot", "[solve][doubt]") {
  for (const GridShape shape : shapes())
    for (const std::int64_t n : {90, 301}) {
      if (n > 90 && device_choice().device == DeviceKind::cuda) continue;
      CAPTURE(shape.nprow, shape.npcol, n);
      const Matrix a = Matrix::from_function(n, [n](auto i, auto j) { return wilkinson(n, i, j); });
      Factorization factors(MPI_COMM_WORLD, a, options(shape, 16, Precision::fp64));
      const Solution s = factors.solve(wilkinson_times_known(n));
      CHECK(error(s) < 1e-13);
      CHECK(s.doubt.empty());
      CHECK(s.columns[0].forward_bound < 1e-10);
      CHECK(error(s) <= s.columns[0].forward_bound);
      CHECK(s.condition < 4 * static_cast<double>(n));
      REQUIRE(s.steps.size() == 2);
      CHECK(s.steps[0].growth > 1e20);
      CHECK(s.steps[1].rotated);
      CHECK(s.steps[1].growth < 1e4);
      // The factors of the rotated matrix serve A^T too.
      const RightHandSide sums = RightHandSide::from_function(1, [n](std::int64_t j, std::int64_t) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += wilkinson(n, i, j) * known(i);
        return sum;
      });
      const Solution t = factors.solve(sums, Transpose::yes);
      CHECK(error(t) < 1e-13);
      CHECK(t.steps.size() == 1);
      CHECK(t.steps[0].rotated);
      CHECK(solve(MPI_COMM_WORLD, a, wilkinson_times_known(n), options(shape, 16)).doubt.empty());
    }
}

TEST_CASE("a pivot that underflows to zero does not make A singular", "[solve][doubt]") {
  // Its determinant is 1 in magnitude. With rows scaled first, the last pivot is 6e-359.
  constexpr std::int64_t n = 6;
  const std::vector<Vector> a{{0, 0, 0, 1, 0, 0},       //
                              {0, 0, -5e196, 0, 0, 1},  //
                              {0, 1, 0, 0, 0, 0},       //
                              {1, 0, 0, 0, 0, 1},       //
                              {0, 3e161, 1, 0, 0, 0},   //
                              {0, 0, 0, 0, -1, 0}};
  const Vector b{0, 1, 0, 0, 0, 1};
  const Vector x{-1, 0, 0, 0, -1, 1};
  const auto at = [&](std::int64_t i, std::int64_t j) {
    return a[static_cast<std::size_t>(i)][static_cast<std::size_t>(j)];
  };
  for (const GridShape shape : shapes())
    for (const Transpose given : {Transpose::no, Transpose::yes}) {
      CAPTURE(shape.nprow, shape.npcol, given);
      const Matrix matrix = Matrix::from_function(n, [&](std::int64_t i, std::int64_t j) {
        return given == Transpose::no ? at(i, j) : at(j, i);
      });
      const RightHandSide side = RightHandSide::from_function(
          1, [&](std::int64_t i, std::int64_t) { return b[static_cast<std::size_t>(i)]; });
      Factorization factors(MPI_COMM_WORLD, matrix, options(shape, 2, Precision::automatic));
      const Solution s = factors.solve(side, given);
      CAPTURE(s.x);
      for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::fabs(s.x[i] - x[i]) <= eps);
      CHECK(s.steps.back().solved);
    }
}

TEST_CASE("a doubt is an error where the options are strict", "[solve][doubt][host]") {
  constexpr std::int64_t n = 60;
  // Its inverse has entries up to 2^58, and its pivots are ones.
  const Matrix a = Matrix::from_function(n, [](auto i, auto j) {
    return i == j ? 1. : i < j ? -1. : 0.;
  });
  const RightHandSide b = RightHandSide::from_function(
      1, [](auto i, auto) { return std::sin(static_cast<double>(i)); });
  for (const GridShape shape : shapes()) {
    CAPTURE(shape.nprow, shape.npcol);
    SolveOptions o = options(shape, 8);
    const Solution s = solve(MPI_COMM_WORLD, a, b, o);
    CHECK(s.converged);
    CHECK(s.doubt.find("singular to working precision") != std::string::npos);
    o.strict = true;
    std::string words;
    try {
      solve(MPI_COMM_WORLD, a, b, o);
    } catch (const AccuracyError& e) {
      words = e.what();
      CHECK(e.best().converged);
      CHECK(e.best().doubt == s.doubt);
      CHECK(e.best().x == s.x);
    }
    CHECK(words == s.doubt);
    Factorization factors(MPI_COMM_WORLD, a, o);
    CHECK_THROWS_AS(factors.solve(b), AccuracyError);
  }
}

TEST_CASE("several small singular values do not hide each other", "[solve][doubt]") {
  constexpr std::int64_t n = 120;
  constexpr std::int64_t pairs = 8;
  // Pairs of columns that differ by 1e-8 of other columns, which FP32 does not see well.
  const auto random = [](std::int64_t i, std::int64_t j) {
    return std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j));
  };
  const auto element = [=](std::int64_t i, std::int64_t j) {
    return j < 2 * pairs && j % 2 == 1 ? random(i, j - 1) + 1e-8 * random(i, j + n) : random(i, j);
  };
  for (const GridShape shape : shapes()) {
    CAPTURE(shape.nprow, shape.npcol);
    const Matrix a = Matrix::from_function(n, element);
    const Solution exact =
        solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), options(shape, 8, Precision::fp64));
    CHECK_FALSE(exact.condition_at_least);
    CHECK(exact.condition > 1e10);
    SolveOptions low = options(shape, 8, Precision::fp32);
    const ConditionEstimate found = Factorization(MPI_COMM_WORLD, a, low).condition();
    CAPTURE(found.value / exact.condition, found.at_least, exact.condition);
    CHECK(found.value <= 1.1 * exact.condition);
    // A bound from below says what FP32 factors can see for certain: that A is singular to them.
    // How far above it lies is the luck of their rounding errors.
    CHECK(found.value >= (found.at_least ? 0x1p24 : exact.condition / 3));
  }
}
}  // namespace speedwell::test::doubts_tests
