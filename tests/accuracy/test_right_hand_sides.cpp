// SPDX-License-Identifier: BSD-3-Clause
// Errors and condition numbers that speedwell::solve reports for many right-hand sides, beside
// those of arithmetic of 113 bits.
#include <speedwell/solve.hpp>

#include <cmath>
#include <string>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "judge.hpp"
#include "world.hpp"

namespace speedwell::test::right_hand_sides_tests {
namespace {

std::int64_t order() {
  return std::min<std::int64_t>(61, largest_order());
}

/// Right-hand sides of several kinds: random ones, unit vectors, and A times ones.
Plain right_hand_sides(const Square& a, std::int64_t count) {
  Random random(7);
  Plain b(a.n, count);
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < a.n; ++i) {
      if (k % 3 == 0) b(i, k) = random();
      if (k % 3 == 1) b(i, k) = i == k % a.n ? 1 : 0;
      for (std::int64_t j = 0; k % 3 == 2 && j < a.n; ++j) b(i, k) += a(i, j);
    }
  return b;
}

/// Checks on the rank that has x that each x is right, and that the reported errors are bounds.
void check_bounds(const Square& a, const Plain& b, const test::Inverse& inverse,
                  const Solution& found, bool full) {
  if (found.x.empty()) return;
  REQUIRE(std::ssize(found.columns) == b.columns);
  const double condition = test::condition(a, inverse, test::Scales(a.n));
  for (std::int64_t k = 0; k < b.columns; ++k) {
    const SolveColumn& said = found.columns[static_cast<std::size_t>(k)];
    const auto x = std::span(found.x).subspan(static_cast<std::size_t>(k * a.n),
                                              static_cast<std::size_t>(a.n));
    const double error = forward_error(x, inverse.times(column(b, k)));
    const double backward = backward_errors(a, column(b, k), x).normwise;
    CAPTURE(k, error, said.forward_bound, backward, said.backward_error);
    CAPTURE(found.steps.size(), name(found.precision()), found.condition_at_least);
    CHECK(said.converged);
    CHECK(error <= said.forward_bound);
    CHECK(said.forward_bound >= 0);
    CHECK(backward <= said.backward_error + static_cast<double>(a.n + 2) * eps);
    // A bound of dgerfs, from an estimate of at least a third of its norm.
    const double best = forward_bound(a, inverse, column(b, k), x);
    CHECK(said.forward_bound >= best / 3);
    if (full)
      CHECK(said.forward_bound <= 1.5 * best);
    else
      CHECK(said.forward_bound <= 100 * static_cast<double>(a.n) * eps * condition);
  }
}

}  // namespace

TEST_CASE("forward bounds of many right-hand sides hold for every condition number", "[solve]") {
  const std::int64_t n = order();
  const std::vector<GridShape> shapes = grids(world().size());
  std::size_t turn = 0;  // each system has one of the grids, for both checks
  for (const int digits : {2, 5, 10}) {
    const double kappa = std::pow(10, digits);
    std::vector<double> one_small(static_cast<std::size_t>(n), 1.);
    one_small.back() = 1 / kappa;
    for (const std::vector<double>& values : {geometric(n, kappa), one_small}) {
      const Square a = with_singular_values(values, 4);
      const test::Inverse inverse(a);
      for (const std::int64_t count : {8, 12}) {
        const Plain b = right_hand_sides(a, count);
        for (const Precision precision : {Precision::automatic, Precision::fp32, Precision::fp64})
          for (const ConditionCheck check : {ConditionCheck::on, ConditionCheck::full}) {
            if (precision == Precision::fp32 && digits > 5) continue;
            const GridShape shape = shapes[turn++ / 2 % shapes.size()];
            CAPTURE(digits, values.size(), count, shape.nprow, shape.npcol, name(precision),
                    name(check));
            SolveOptions options = solve_options(shape, 8, precision);
            options.equilibrate = false;
            options.condition = check;
            const Solution found = solve(MPI_COMM_WORLD, given(a), given(b), options);
            check_bounds(a, b, inverse, found, count <= 8 || check == ConditionCheck::full);
          }
      }
    }
  }
}

TEST_CASE("lower bounds of the condition number with factors that are of no use", "[solve]") {
  const std::int64_t n = order();
  for (const double small : {1e-6, 1e-8, 1e-10}) {
    std::vector<double> values(static_cast<std::size_t>(n), 1.);
    values.back() = small;
    const Square a = with_singular_values(values, 4);
    const double exact = test::condition(a, test::Inverse(a), test::Scales(n));
    for (const GridShape shape : grids(world().size()))
      for (const std::int64_t count : {1, 12}) {
        CAPTURE(small, exact, shape.nprow, shape.npcol, count);
        SolveOptions options = solve_options(shape, 8, Precision::bf16);
        options.equilibrate = false;
        const Plain b = right_hand_sides(a, count);
        const Solution found = [&] {
          try {
            return solve(MPI_COMM_WORLD, given(a), given(b), options);
          } catch (const AccuracyError& error) {
            return error.best();
          }
        }();
        CHECK(found.condition_at_least);
        CHECK(found.condition <= exact * 1.01);
        CHECK(found.condition >= 1e-2 * exact);
        for (const SolveColumn& column : found.columns)
          if (column.converged) CHECK(column.forward_bound == HUGE_VAL);
      }
  }
}

TEST_CASE("many right-hand sides of an A whose norms' squares are beyond FP64's range", "[solve]") {
  const std::int64_t n = order();
  for (const int shift : {-530, 530}) {
    Square a = random_matrix(n, 3);
    for (double& value : a.data) value = std::ldexp(value, shift);
    const test::Inverse inverse(a);
    for (const bool equilibrate : {true, false})
      for (const GridShape shape : grids(world().size())) {
        CAPTURE(shift, equilibrate, shape.nprow, shape.npcol);
        Plain b = right_hand_sides(random_matrix(n, 3), 12);
        SolveOptions options = solve_options(shape, 8, Precision::fp64);
        options.equilibrate = equilibrate;
        const Solution found = solve(MPI_COMM_WORLD, given(a), given(b), options);
        check_bounds(a, b, inverse, found, false);
        for (const SolveColumn& column : found.columns) CHECK(column.backward_error > 0);
      }
  }
}
}  // namespace speedwell::test::right_hand_sides_tests
