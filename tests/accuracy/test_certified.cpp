// SPDX-License-Identifier: BSD-3-Clause
// Accuracy::certified: proven bounds beside solutions of 113 bits, for condition numbers up to
// 1e16, with A and its transpose, real and complex, with FP32 and FP64 factors, on every grid.
#include <speedwell/solve.hpp>

#include <cmath>
#include <complex>
#include <limits>
#include <string>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "judge.hpp"
#include "world.hpp"

namespace speedwell::test::certified_tests {
namespace {

bool is_on_cpus() {
  return device_choice().device != DeviceKind::cuda;
}

/// Options of one process on a CPU.
SolveOptions alone(std::int64_t nb, Precision precision = Precision::automatic) {
  SolveOptions o;
  o.run.device = DeviceKind::cpu;
  o.run.threads = 1;
  o.run.nb = nb;
  o.precision = precision;
  o.accuracy = Accuracy::certified;
  return o;
}

/// Who solves, and with which options.
struct Solver {
  MPI_Comm ranks;
  SolveOptions options;
};

/// The solver of small systems, where this process is alone, and the steps on every grid.
std::vector<Solver> solvers(Precision precision = Precision::automatic) {
  std::vector<Solver> all;
  if (world().size() == 1 && precision == Precision::automatic)
    all.push_back({MPI_COMM_SELF, alone(0)});
  for (const GridShape shape : grids(world().size())) {
    all.push_back({MPI_COMM_WORLD, solve_options(shape, 7, precision)});
    all.back().options.accuracy = Accuracy::certified;
  }
  return all;
}

Square transpose_of(const Square& a) {
  return matrix_of(a.n, [&](std::int64_t i, std::int64_t j) { return a(j, i); });
}

Plain sides(std::int64_t n, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  Plain b(n, count);
  for (double& value : b.data) value = random();
  return b;
}

/// Checks every x: a proven bound holds, and without a proof there is a doubt and no bound.
/// Returns how many x are proven.
std::int64_t proven(const Solution& found, const Plain& b, const test::Inverse& inverse) {
  std::int64_t count = 0;
  for (std::int64_t k = 0; k < b.columns; ++k) {
    const SolveColumn& said = found.columns[static_cast<std::size_t>(k)];
    if (!said.certified) {
      CHECK(std::isnan(said.forward_bound));
      CHECK(std::isnan(said.componentwise_bound));
      CHECK(found.doubt.starts_with("no proof of the error of x: "));
      continue;
    }
    ++count;
    CHECK(found.proof.norm < 1);
    if (found.x.empty()) continue;  // rank 0 has it
    const std::span x = std::span(found.x).subspan(static_cast<std::size_t>(k * b.rows),
                                                   static_cast<std::size_t>(b.rows));
    const std::vector<Quad> exact = inverse.times(column(b, k));
    Quad norm = 0;
    Quad most = 0;
    Quad entry = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const Quad error = magnitude(x[i] - exact[i]);
      norm = std::max(norm, error);
      most = std::max(most, magnitude(Quad(x[i])));
      if (error > 0) entry = std::max(entry, error / magnitude(Quad(x[i])));
    }
    const Quad of_norm = norm > 0 ? norm / most : 0;
    CAPTURE(k, static_cast<double>(of_norm) / eps, said.forward_bound / eps,
            static_cast<double>(entry) / eps, said.componentwise_bound / eps, said.certified,
            name(said.precision), found.proof.norm, found.doubt);
    CHECK(of_norm <= Quad(said.forward_bound));
    CHECK(entry <= Quad(said.componentwise_bound));
  }
  return count;
}

}  // namespace

TEST_CASE("certified: proven bounds hold for every condition number", "[certified]") {
  const std::int64_t n = 41;
  std::size_t turn = 0;  // of several ranks, each system has one of their grids
  for (const int digits : {1, 4, 8, 12, 15, 16}) {
    if (!is_on_cpus() && digits != 8) continue;  // emulated GPUs are slow
    const double kappa = std::pow(10, digits);
    for (const bool scaled : {false, true}) {
      if (!is_on_cpus() && !scaled) continue;
      const Square plain = with_singular_values(geometric(n, kappa), 4);
      const Square a = scaled ? badly_scaled(plain, 9, 5, 3) : plain;
      for (const Transpose op : {Transpose::no, Transpose::yes}) {
        const test::Inverse inverse(op == Transpose::no ? a : transpose_of(a));
        for (const Precision precision : {Precision::automatic, Precision::fp32, Precision::fp64}) {
          std::vector<Solver> some = solvers(precision);
          if (world().size() > 1) some = {some[turn++ % some.size()]};
          for (const Solver& s : some)
            for (const std::int64_t count : {1, 9}) {
              CAPTURE(digits, scaled, op == Transpose::yes, s.options.run.nb, name(precision),
                      count);
              const Plain b = sides(n, count, 7);
              try {
                Factorization factors(s.ranks, given(a), s.options);
                const Solution found = factors.solve(given(b), op);
                CHECK(found.accuracy == Accuracy::certified);
                const std::int64_t all = proven(found, b, inverse);
                if (digits <= (precision == Precision::fp32 ? 4 : 12)) {
                  CHECK(all == count);
                  CHECK(found.doubt.empty());
                  for (const SolveColumn& column : found.columns)
                    CHECK(column.forward_bound <= 2 * eps);
                }
              } catch (const AccuracyError&) {
                CHECK(precision == Precision::fp32);
                CHECK(digits >= 7);
              }
            }
        }
      }
    }
  }
}

TEST_CASE("certified: factors in FP32 prove with products in FP32 where these suffice",
          "[certified]") {
  const std::int64_t n = 61;
  const Plain b = sides(n, 1, 5);
  const auto products = [&](double kappa) {
    const Square a = with_singular_values(geometric(n, kappa), 4);
    const Solution found = solve(MPI_COMM_SELF, given(a), given(b), alone(7, Precision::fp32));
    CHECK(proven(found, b, test::Inverse(a)) == 1);
    CHECK(found.proof.inverse == Precision::fp32);
    return found.proof.products;
  };
  CHECK(products(1e1) == Precision::fp32);
  CHECK(products(1e6) == Precision::fp64);
}

TEST_CASE("certified: complex systems", "[certified][complex]") {
  const std::int64_t n = 31;
  for (const double kappa : {1e2, 1e6, 1e10, 1e15}) {
    const Square re = with_singular_values(geometric(n, kappa), 4);
    const Square turn =
        with_singular_values(std::vector<double>(static_cast<std::size_t>(n), 1.), 8);
    const Plain imaginary = product(turn, re);
    std::vector<std::complex<double>> a(static_cast<std::size_t>(n * n));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i)
        a[static_cast<std::size_t>(i + j * n)] = {re(i, j), imaginary(i, j) / 2};
    const Square real = matrix_of(2 * n, [&](std::int64_t i, std::int64_t j) {
      const std::complex<double> z = a[static_cast<std::size_t>(i / 2 + j / 2 * n)];
      return i % 2 == j % 2 ? z.real() : i % 2 == 0 ? -z.imag() : z.imag();
    });
    for (const Transpose op : {Transpose::no, Transpose::conjugate}) {
      const test::Inverse inverse(op == Transpose::no ? real : transpose_of(real));
      for (const Precision precision : {Precision::automatic, Precision::fp32})
        for (const Solver& s : solvers(precision))
          for (const std::int64_t count : {1, 5}) {
            if (kappa > 1e4 && precision == Precision::fp32) continue;
            CAPTURE(kappa, op == Transpose::no, s.options.run.nb, name(precision), count);
            const Plain b = sides(2 * n, count, 7);
            const RightHandSide of_b = RightHandSide::complex_dense(
                count, reinterpret_cast<const std::complex<double>*>(b.data.data()), n);
            Factorization factors(s.ranks, Matrix::complex_dense(n, a.data(), n), s.options);
            const std::int64_t all = proven(factors.solve(of_b, op), b, inverse);
            if (kappa <= 1e10) CHECK(all == count);
          }
    }
  }
}

TEST_CASE("certified: numbers near the ends of FP64's range", "[certified]") {
  const std::int64_t n = 33;
  for (const double range : {0., 100., 140.})
    for (const int power : {-1000, -900, 0, 900, 1000})
      for (const bool equilibrate : {true, false}) {
        CAPTURE(range, power, equilibrate);
        if (range > 0 && (!equilibrate || std::abs(power) > 900)) continue;
        Square a = badly_scaled(with_singular_values(geometric(n, 1e6), 4), range, range / 2, 3);
        Plain b = sides(n, 2, 5);
        const double factor = std::ldexp(1., power / (range > 0 ? 3 : 1));
        for (double& value : a.data) value *= factor;
        a(2, 3) = 5 * std::numeric_limits<double>::denorm_min();
        for (std::int64_t i = 0; i < n; ++i) {
          double of_row = 0;
          for (std::int64_t j = 0; j < n; ++j) of_row = std::max(of_row, std::fabs(a(i, j)));
          b(i, 0) *= of_row;
          b(i, 1) *= 0x1p-1060;
        }
        const test::Inverse inverse(a);
        std::vector<Solver> each = solvers();
        for (Solver& s : each) {
          s.options.equilibrate = equilibrate;
          try {
            const Solution found = solve(s.ranks, given(a), given(b), s.options);
            const std::int64_t count = proven(found, b, inverse);
            if (equilibrate) CHECK(count >= 1);
          } catch (const AccuracyError&) {
            CHECK(power != 0);
          }
        }
      }
}

TEST_CASE("certified: a singular matrix is never proven to be regular", "[certified]") {
  const std::int64_t n = 24;
  // Whole numbers: the columns are dependent without any rounding.
  Square a = random_matrix(n, 3);
  for (double& value : a.data) value = std::round(1024 * value);
  for (std::int64_t i = 0; i < n; ++i) a(i, 5) = a(i, 1) + 3 * a(i, 3) - a(i, 7);
  const Plain b = sides(n, 2, 5);
  std::vector<Solver> all = solvers();
  for (Solver& s : all) {
    const Solution found = solve(s.ranks, given(a), given(b), s.options);
    CHECK(std::ranges::none_of(found.columns, &SolveColumn::certified));
    CHECK(found.doubt.starts_with(
        "no proof of the error of x: ||I - R A|| could not be shown to be below 1: "));
    s.options.strict = true;
    CHECK_THROWS_AS(solve(s.ranks, given(a), given(b), s.options), AccuracyError);
  }
}

TEST_CASE("certified: b with cancellation, zeros in x, and a b of zeros", "[certified]") {
  const std::int64_t n = 40;
  const Square a = with_singular_values(geometric(n, 1e8), 4);
  Plain b(n, 3);
  // x = e_3, and x with entries from 1 down to 1e-8 along A's singular vectors: A x cancels.
  for (std::int64_t i = 0; i < n; ++i) {
    b(i, 0) = a(i, 3);
    for (std::int64_t j = 0; j < n; ++j) b(i, 2) += a(i, j) * (j % 2 == 0 ? 1 : -1);
  }
  for (const Solver& s : solvers()) {
    const Solution found = solve(s.ranks, given(a), given(b), s.options);
    CHECK(proven(found, b, test::Inverse(a)) == 3);
    CHECK(found.columns[1].forward_bound == 0);
    CHECK(found.columns[1].componentwise_bound == 0);
    const bool whole = s.ranks == MPI_COMM_SELF || (world().size() == 1 && is_on_cpus());
    CHECK(found.proof.operations == (whole ? 4. : 6.) * n * n * n);
  }
}

TEST_CASE("certified: an entry of x that is zero has no bound of its relative error",
          "[certified]") {
  const std::int64_t n = 40;
  Square a = random_matrix(n, 3);  // two blocks, of which the second has b = 0
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if ((i < n / 2) != (j < n / 2)) a(i, j) = 0;
  Plain b = sides(n, 1, 5);
  for (std::int64_t i = n / 2; i < n; ++i) b(i, 0) = 0;
  for (const Solver& s : solvers()) {
    const Solution found = solve(s.ranks, given(a), given(b), s.options);
    if (!found.x.empty()) CHECK(std::ranges::count(found.x, 0) == n / 2);
    CHECK(proven(found, b, test::Inverse(a)) == 1);
    CHECK(found.columns[0].forward_bound <= 2 * eps);
    CHECK(found.columns[0].componentwise_bound == std::numeric_limits<double>::infinity());
  }
}

}  // namespace speedwell::test::certified_tests
