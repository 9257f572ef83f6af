// SPDX-License-Identifier: BSD-3-Clause
// Accuracy::forward: x beside solutions of 113 bits, for condition numbers up to 1e14, on every
// grid, with A and its transpose, real and complex.
#include <speedwell/solve.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "judge.hpp"
#include "world.hpp"

namespace speedwell::test::forward_tests {
namespace {

std::int64_t order() {
  return std::min<std::int64_t>(61, largest_order());
}

SolveOptions forward_options(GridShape shape, std::int64_t nb,
                             Precision precision = Precision::automatic) {
  SolveOptions o = solve_options(shape, nb, precision);
  o.accuracy = Accuracy::forward;
  return o;
}

Square transposed(const Square& a) {
  return matrix_of(a.n, [&](std::int64_t i, std::int64_t j) { return a(j, i); });
}

Plain random_sides(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Plain b(n, count);
  for (double& value : b.data) value = random();
  return b;
}

struct Errors {
  double norm = 0;   ///< ||x - x*|| / ||x||
  double entry = 0;  ///< the largest |x_i - x*_i| / |x_i|
};

Errors errors_of(std::span<const double> x, const std::vector<Quad>& exact) {
  Errors e;
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto difference = static_cast<double>(magnitude(x[i] - exact[i]));
    e.norm = std::max(e.norm, difference);
    size = std::max(size, std::fabs(x[i]));
    if (difference > 0) e.entry = std::max(e.entry, difference / std::fabs(x[i]));
  }
  if (e.norm > 0) e.norm /= size;
  return e;
}

/// Checks one x: bounds hold, and an x that is called accurate is.
void check(const SolveColumn& said, std::span<const double> x, const std::vector<Quad>& exact) {
  const Errors e = errors_of(x, exact);
  CAPTURE(e.norm / eps, said.forward_bound / eps, e.entry / eps, said.componentwise_bound / eps,
          said.accurate, said.iterations, name(said.precision));
  CHECK(said.converged);
  CHECK_FALSE(e.norm > said.forward_bound);
  CHECK_FALSE(e.entry > said.componentwise_bound);
  if (!said.accurate) {
    CHECK(std::isnan(said.componentwise_bound));
    return;
  }
  CHECK(e.norm <= 4 * eps);
  // The bounds of many right-hand sides are by norms.
  const double of_norms =
      std::isnan(said.componentwise_bound) ? eps * static_cast<double>(x.size()) : eps;
  CHECK(said.forward_bound <= 10 * e.norm + of_norms);
  CHECK(said.componentwise_error <= 1.1 * eps);  // what the rounding of x leaves
}

void check_all(const Solution& found, const Plain& b, const test::Inverse& inverse) {
  if (found.x.empty()) return;
  CHECK(found.accuracy == Accuracy::forward);
  REQUIRE(std::ssize(found.columns) == b.columns);
  for (std::int64_t k = 0; k < b.columns; ++k) {
    CAPTURE(k);
    check(found.columns[static_cast<std::size_t>(k)],
          std::span(found.x).subspan(static_cast<std::size_t>(k * b.rows),
                                     static_cast<std::size_t>(b.rows)),
          inverse.times(column(b, k)));
  }
}

bool all_accurate(const Solution& s) {
  return std::ranges::all_of(s.columns, &SolveColumn::accurate);
}

/// The real matrix of twice the order with a 2 x 2 block for each element.
Square real_of(const std::vector<std::complex<double>>& a, std::int64_t n) {
  return matrix_of(2 * n, [&](std::int64_t i, std::int64_t j) {
    const std::complex<double> z = a[static_cast<std::size_t>(i / 2 + j / 2 * n)];
    return i % 2 == j % 2 ? z.real() : i % 2 == 0 ? -z.imag() : z.imag();
  });
}

}  // namespace

TEST_CASE("forward: x is accurate to its last digit for every condition number", "[forward]") {
  const std::int64_t n = order();
  // Emulated GPUs are slow.
  const bool some = device_choice().device == DeviceKind::cuda;
  const std::vector<GridShape> shapes = grids(world().size());
  std::size_t turn = 0;  // each system has one of the grids
  for (const int digits : {2, 5, 8, 11, 14}) {
    if (some && digits != 8) continue;
    const double kappa = std::pow(10, digits);
    std::vector<double> one_small(static_cast<std::size_t>(n), 1.);
    one_small.back() = 1 / kappa;
    for (const std::vector<double>& values : {geometric(n, kappa), one_small})
      for (const bool scaled : {false, true}) {
        const Square plain = with_singular_values(values, 4);
        const Square a = scaled ? badly_scaled(plain, 9, 5, 3) : plain;
        for (const Transpose op : {Transpose::no, Transpose::yes}) {
          const test::Inverse inverse(op == Transpose::no ? a : transposed(a));
          for (const Precision precision : {Precision::automatic, Precision::fp32, Precision::fp64})
            for (const std::int64_t count : {1, 3, 9}) {
              if (some && (scaled || count == 3)) continue;
              const GridShape shape = shapes[turn++ % shapes.size()];
              CAPTURE(digits, values.front() == values[1], scaled, op == Transpose::yes,
                      shape.nprow, shape.npcol, name(precision), count);
              const Plain b = random_sides(n, count, 7);
              Factorization factors(MPI_COMM_WORLD, given(a), forward_options(shape, 7, precision));
              try {
                const Solution found = factors.solve(given(b), op);
                check_all(found, b, inverse);
                if (precision != Precision::fp32 && digits <= 11) CHECK(all_accurate(found));
              } catch (const AccuracyError&) {
                CHECK(precision == Precision::fp32);
                CHECK(digits >= 8);
              }
            }
        }
      }
  }
}

TEST_CASE("forward: where residuals in FP64 stall", "[forward]") {
  const std::int64_t n = order();
  const Square a = with_singular_values(geometric(n, 1e9), 4);
  const Plain b = random_sides(n, 1, 5);
  const std::vector<Quad> exact = test::Inverse(a).times(column(b, 0));
  SolveOptions o = forward_options(grids(world().size()).back(), 8);
  const Solution sharp = solve(MPI_COMM_WORLD, given(a), given(b), o);
  o.accuracy = Accuracy::backward;
  const Solution plain = solve(MPI_COMM_WORLD, given(a), given(b), o);
  CHECK(plain.accuracy == Accuracy::backward);
  CHECK_FALSE(plain.columns[0].accurate);
  if (sharp.x.empty()) return;
  CHECK(errors_of(plain.x, exact).norm > 1e3 * eps);
  CHECK(errors_of(sharp.x, exact).norm <= 2 * eps);
  CHECK(sharp.columns[0].accurate);
}

TEST_CASE("forward: numbers near the ends of FP64's range", "[forward]") {
  const std::int64_t n = std::min<std::int64_t>(33, order());
  for (const double range : {0., 100., 140.})
    for (const int power : {-900, 0, 900}) {
      CAPTURE(range, power);
      Square a = badly_scaled(with_singular_values(geometric(n, 1e6), 4), range, range / 2, 3);
      Plain b = random_sides(n, 1, 5);
      const double factor = std::ldexp(1., power / (range > 0 ? 3 : 1));
      for (double& value : a.data) value *= factor;
      double of_row = 1;
      for (std::int64_t i = 0; i < n; ++i) {
        of_row = 0;
        for (std::int64_t j = 0; j < n; ++j) of_row = std::max(of_row, std::fabs(a(i, j)));
        b(i, 0) *= of_row;
      }
      const test::Inverse inverse(a);
      for (const GridShape shape : grids(world().size())) {
        const Solution found = solve(MPI_COMM_WORLD, given(a), given(b), forward_options(shape, 8));
        check_all(found, b, inverse);
        if (!found.x.empty()) CHECK(all_accurate(found));
      }
    }
}

TEST_CASE("forward: complex systems", "[forward][complex]") {
  if (device_choice().device == DeviceKind::cuda) return;  // GPUs factor no complex matrices yet
  const std::int64_t n = std::min<std::int64_t>(31, order());
  for (const double kappa : {1e2, 1e8}) {
    const Square re = with_singular_values(geometric(n, kappa), 4);
    const Square turn =
        with_singular_values(std::vector<double>(static_cast<std::size_t>(n), 1.), 8);
    std::vector<std::complex<double>> a(static_cast<std::size_t>(n * n));
    // (1 + i Q) R with Q orthogonal: its condition number is near that of R.
    const Plain imaginary = product(turn, re);
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a[static_cast<std::size_t>(i + j * n)] = {re(i, j), imaginary(i, j) / 2};
    const Square real = real_of(a, n);
    for (const Transpose op : {Transpose::no, Transpose::conjugate}) {
      const test::Inverse inverse(op == Transpose::no ? real : transposed(real));
      for (const GridShape shape : grids(world().size()))
        for (const std::int64_t count : {1, 5}) {
          CAPTURE(kappa, op == Transpose::no, shape.nprow, shape.npcol, count);
          const Plain b = random_sides(2 * n, count, 7);
          const RightHandSide sides = RightHandSide::complex_dense(
              count, reinterpret_cast<const std::complex<double>*>(b.data.data()), n);
          Factorization factors(MPI_COMM_WORLD, Matrix::complex_dense(n, a.data(), n),
                                forward_options(shape, 7));
          const Solution found = factors.solve(sides, op);
          check_all(found, b, inverse);
          if (!found.x.empty()) CHECK(all_accurate(found));
        }
    }
  }
}

TEST_CASE("forward: small systems of a process alone", "[forward][small]") {
  for (const std::int64_t n : {1, 2, 5, 40, 130})
    for (const double kappa : {1e1, 1e7, 1e10}) {
      const Square a = with_singular_values(geometric(n, n == 1 ? 1 : kappa), 4);
      const test::Inverse inverse(a);
      for (const std::int64_t count : {1, 8, 9})
        for (const ConditionCheck check : {ConditionCheck::on, ConditionCheck::full}) {
          CAPTURE(n, kappa, count, name(check));
          SolveOptions o;
          o.accuracy = Accuracy::forward;
          o.condition = check;
          const Plain b = random_sides(n, count, 9);
          const Solution found = solve(MPI_COMM_SELF, given(a), given(b), o);
          CHECK(found.precision() == Precision::fp64);
          check_all(found, b, inverse);
          CHECK(all_accurate(found));
          for (const SolveColumn& column : found.columns)
            CHECK(std::isnan(column.componentwise_bound) ==
                  (count > Device::few_vectors && check == ConditionCheck::on));
        }
    }
}

TEST_CASE("forward: zeros in x, a b of zeros, and one with an infinity", "[forward]") {
  const std::int64_t n = 20;
  const Square a = random_matrix(n, 3);
  const SolveOptions o = forward_options(grids(world().size()).back(), 8);
  Plain b(n, 2);
  for (std::int64_t i = 0; i < n; ++i) b(i, 0) = a(i, 3);
  const Solution found = solve(MPI_COMM_WORLD, given(a), given(b), o);
  if (!found.x.empty()) {
    for (std::int64_t i = 0; i < n; ++i) {
      CHECK(std::fabs(found.x[static_cast<std::size_t>(i)] - (i == 3 ? 1 : 0)) <= eps);
      CHECK(found.x[static_cast<std::size_t>(n + i)] == 0);
    }
    CHECK(found.columns[0].accurate);
    CHECK(found.columns[0].forward_bound <= 2 * eps);
    CHECK(found.columns[1].forward_bound == 0);
  }
  b(4, 0) = std::numeric_limits<double>::infinity();
  CHECK_THROWS_AS(solve(MPI_COMM_WORLD, given(a), given(b), o), Error);
  for (const RefineMethod method : {RefineMethod::ir, RefineMethod::gmres}) {
    CAPTURE(name(method));
    SolveOptions of_zeros = o;
    of_zeros.refine = method;
    const Solution zeros = solve(MPI_COMM_WORLD, given(a), given(Plain(n, 9)), of_zeros);
    CHECK(std::ranges::all_of(zeros.x, [](double value) { return value == 0; }));
    for (const SolveColumn& column : zeros.columns) CHECK(column.forward_bound == 0);
  }
}

TEST_CASE("forward: the same bits on every rank", "[forward]") {
  const std::int64_t n = order();
  const Square a = with_singular_values(geometric(n, 1e6), 4);
  for (const GridShape shape : grids(world().size())) {
    const Solution found =
        solve(MPI_COMM_WORLD, given(a), RightHandSide::of_ones(), forward_options(shape, 5));
    std::vector<double> first = found.x;
    world().broadcast(std::span(first), 0);
    CHECK(first == found.x);
    std::vector<double> bounds{found.columns[0].forward_bound,
                               found.columns[0].componentwise_bound};
    const std::vector<double> mine = bounds;
    world().broadcast(std::span(bounds), 0);
    CHECK(bounds == mine);
  }
}

}  // namespace speedwell::test::forward_tests
