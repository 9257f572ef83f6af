// SPDX-License-Identifier: BSD-3-Clause
// Complex systems on every grid and in every precision: x beside one that is known, in every form
// of A and b, with A, its transpose and its conjugate transpose.
#include <speedwell/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>

#include "catch.hpp"
#include "comm/process_grid.hpp"
#include "core/numbers.hpp"
#include "pipeline.hpp"
#include "solutions.hpp"

namespace speedwell::test::complex_tests {
namespace {

using Complex = std::complex<double>;
using Vectors = std::vector<Complex>;

constexpr std::array all_systems{Transpose::no, Transpose::yes, Transpose::conjugate};

/// A well conditioned system whose numbers have so few bits that b = op(A) x is exact in FP64, for
/// an x of small integers.
struct Exact {
  std::int64_t n;

  static double wave(std::int64_t i, std::int64_t j, int seed) {
    return std::round(std::sin(static_cast<double>(seed + i * i * 31 + j * 17 + i * j)) * 0x1p30) *
           0x1p-30;
  }
  Complex a(std::int64_t i, std::int64_t j) const {
    const auto size = std::floor(static_cast<double>(n) / 4) + 3;
    const Complex diagonal = i == j ? Complex(3, i % 2 == 0 ? size : -size) : Complex(0);
    return Complex(wave(i, j, 1), wave(i, j, 5)) + diagonal;
  }
  Complex op(Transpose t, std::int64_t i, std::int64_t j) const {
    return t == Transpose::no ? a(i, j) : t == Transpose::yes ? a(j, i) : std::conj(a(j, i));
  }
  Complex x(std::int64_t i, std::int64_t k) const {
    return {static_cast<double>((i * 7 + k * 11) % 13 - 6),
            static_cast<double>((i * 5 + k * 3) % 11 - 5)};
  }
  Complex b(Transpose t, std::int64_t i, std::int64_t k) const {
    Complex sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += op(t, i, j) * x(j, k);
    return sum;
  }
  Vectors matrix(bool row_major) const {
    Vectors all;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) all.push_back(row_major ? a(j, i) : a(i, j));
    return all;
  }
  Vectors sides(Transpose t, std::int64_t count) const {
    Vectors all;
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = 0; i < n; ++i) all.push_back(b(t, i, k));
    return all;
  }
};

std::span<const Complex> complex_of(const std::vector<double>& pairs) {
  return {reinterpret_cast<const Complex*>(pairs.data()), pairs.size() / 2};
}

/// Checks the x that this rank has against the known one, and the bounds of its errors.
void check_x(const Exact& s, const Solution& found, std::int64_t count) {
  CHECK(found.converged);
  CHECK(found.n == s.n);
  REQUIRE(std::ssize(found.columns) == count);
  const std::span<const Complex> x = complex_of(found.x);
  if (x.empty()) return;
  REQUIRE(std::ssize(x) == s.n * count);
  for (std::int64_t k = 0; k < count; ++k) {
    double error = 0;
    double size = 0;
    for (std::int64_t i = 0; i < s.n; ++i) {
      const Complex d = x[static_cast<std::size_t>(i + k * s.n)] - s.x(i, k);
      error = std::max({error, std::fabs(d.real()), std::fabs(d.imag())});
      size = std::max({size, std::fabs(s.x(i, k).real()), std::fabs(s.x(i, k).imag())});
    }
    const SolveColumn& column = found.columns[static_cast<std::size_t>(k)];
    CAPTURE(k, error, size, column.forward_bound, column.backward_error, name(column.precision));
    CHECK(column.converged);
    CHECK(error <= size * (column.forward_bound + 2 * eps));
    CHECK(error <= 1e-13 * size);
    CHECK(column.backward_error <= tolerance_of(2 * s.n));
  }
}

}  // namespace

TEST_CASE("complex systems on every grid, in every precision", "[complex][solve]") {
  const Exact s{37};
  const Vectors a = s.matrix(false);
  const auto some = [](const std::vector<std::int64_t>& all,
                       const std::vector<std::int64_t>& of_emulated) {
    return emulated() ? of_emulated : all;
  };
  const std::vector<std::int64_t> blocks = some({3, 8, 64}, {8});
  const std::vector<std::int64_t> counts = some({1, 3, 9}, {1, 9});
  for (const GridShape shape : few_grids(world().size()))
    for (const Precision precision : {Precision::automatic, Precision::fp16, Precision::bf16,
                                      Precision::fp16x3, Precision::fp32, Precision::fp64})
      for (const std::int64_t nb : blocks) {
        CAPTURE(shape.nprow, shape.npcol, name(precision), nb);
        const Factorization factors(MPI_COMM_WORLD, Matrix::complex_dense(s.n, a.data(), s.n),
                                    options(shape, nb, precision));
        Factorization& all = const_cast<Factorization&>(factors);
        for (const Transpose t : all_systems)
          for (const std::int64_t count : counts) {
            CAPTURE(static_cast<int>(t), count);
            const Vectors b = s.sides(t, count);
            check_x(s, all.solve(RightHandSide::complex_dense(count, b.data(), s.n), t), count);
          }
      }
}

TEST_CASE("complex matrices and right-hand sides in every form", "[complex][sources]") {
  const Exact s{41};
  constexpr std::int64_t count = 2;
  const auto element = [s](std::int64_t i, std::int64_t j) { return s.a(i, j); };
  const auto block = [s](std::span<const std::int64_t> i, std::span<const std::int64_t> j,
                         Complex* to, std::int64_t ld) {
    for (std::size_t q = 0; q < j.size(); ++q)
      for (std::size_t p = 0; p < i.size(); ++p)
        to[static_cast<std::int64_t>(p) + static_cast<std::int64_t>(q) * ld] = s.a(i[p], j[q]);
  };
  const Vectors by_rows = s.matrix(true);
  for (const GridShape shape : few_grids(world().size())) {
    const ProcessGrid grid(world(), shape);
    const SolveOptions o = options(shape, 6);
    // The rank's part in blocks of 4 x 6, with a padded leading dimension.
    const Distribution rows = grid.rows(s.n, 4);
    const Distribution columns = grid.columns(s.n, 6);
    const std::int64_t ld = rows.local_size() + 3;
    Vectors local(static_cast<std::size_t>(ld * columns.local_size()));
    for (std::int64_t j = 0; j < columns.local_size(); ++j)
      for (std::int64_t i = 0; i < rows.local_size(); ++i)
        local[static_cast<std::size_t>(i + j * ld)] =
            s.a(rows.global({i}).value, columns.global({j}).value);
    const Descriptor descriptor{1, 0, s.n, s.n, 4, 6, 0, 0, ld};
    for (const Transpose t : all_systems) {
      CAPTURE(shape.nprow, shape.npcol, static_cast<int>(t));
      const auto side = [s, t](std::int64_t i, std::int64_t k) { return s.b(t, i, k); };
      const RightHandSide b = RightHandSide::from_complex_function(count, side);
      const std::array matrices{
          Matrix::from_complex_function(s.n, element), Matrix::from_complex_blocks(s.n, block),
          Matrix::complex_dense(s.n, by_rows.data(), s.n, 0, StorageOrder::row_major),
          Matrix::complex_block_cyclic(descriptor, local.data())};
      for (const Matrix& a : matrices)
        check_x(s, Factorization(MPI_COMM_WORLD, a, o).solve(b, t), count);
    }
    // x in the distribution of b.
    const Distribution mine = grid.rows(s.n, 4);
    const Distribution sides = grid.columns(count, 1);
    const std::int64_t ldb = mine.local_size() + 1;
    Vectors b(static_cast<std::size_t>(ldb * sides.local_size()));
    for (std::int64_t k = 0; k < sides.local_size(); ++k)
      for (std::int64_t i = 0; i < mine.local_size(); ++i)
        b[static_cast<std::size_t>(i + k * ldb)] =
            s.b(Transpose::no, mine.global({i}).value, sides.global({k}).value);
    const Solution found = solve(
        MPI_COMM_WORLD, Matrix::from_complex_function(s.n, element),
        RightHandSide::complex_block_cyclic({1, 0, s.n, count, 4, 1, 0, 0, ldb}, b.data()), o);
    const std::span<const Complex> x = complex_of(found.x);
    REQUIRE(x.size() == b.size());
    for (std::int64_t k = 0; k < sides.local_size(); ++k)
      for (std::int64_t i = 0; i < mine.local_size(); ++i)
        CHECK(std::abs(x[static_cast<std::size_t>(i + k * ldb)] -
                       s.x(mine.global({i}).value, sides.global({k}).value)) < 1e-12);
  }
}

TEST_CASE("small complex systems, and b of ones", "[complex][small]") {
  if (world().size() > 1) return;
  for (const std::int64_t n : {1, 2, 7, 64, 200}) {
    const Exact s{n};
    const Vectors a = s.matrix(false);
    const Vectors by_rows = s.matrix(true);
    for (const StorageOrder order : {StorageOrder::column_major, StorageOrder::row_major}) {
      Factorization factors(
          MPI_COMM_SELF,
          Matrix::complex_dense(n, order == StorageOrder::row_major ? by_rows.data() : a.data(), n,
                                0, order),
          small_options());
      for (const Transpose t : all_systems) {
        CAPTURE(n, static_cast<int>(t));
        for (const std::int64_t count : {1, 9}) {
          const Vectors b = s.sides(t, count);
          const Solution found = factors.solve(RightHandSide::complex_dense(count, b.data(), n), t);
          CHECK(found.precision() == Precision::fp64);
          check_x(s, found, count);
        }
        const Solution ones = factors.solve(RightHandSide::of_ones(), t);
        for (const Complex one : complex_of(ones.x)) CHECK(std::abs(one - 1.) < 1e-13);
      }
    }
  }
}

TEST_CASE("a real matrix as a complex one gives what the real solver gives", "[complex][solve]") {
  const test::Exact real{37};
  const GridShape shape = grids(world().size()).back();
  for (const Precision precision : {Precision::bf16, Precision::fp32, Precision::fp64})
    for (const Complex factor : {Complex(1, 0), Complex(0, 1)}) {
      CAPTURE(name(precision), factor.imag());
      const SolveOptions o = options(shape, 6, precision);
      const Solution expected = solve(MPI_COMM_WORLD, real.matrix(), real.function(2), o);
      const Solution found =
          solve(MPI_COMM_WORLD,
                Matrix::from_complex_function(
                    real.n, [&](auto i, auto j) { return factor * real.a(i, j); }),
                RightHandSide::from_complex_function(
                    2, [&](auto i, auto k) { return factor * real.b(i, k); }),
                o);
      const std::span<const Complex> x = complex_of(found.x);
      REQUIRE(x.size() == expected.x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK(x[i].real() == Approx(expected.x[i]).margin(1e-14));
        CHECK(std::fabs(x[i].imag()) <= 1e-14);
      }
      CHECK(found.norm_a == Approx(expected.norm_a).epsilon(1e-14));
      CHECK(found.condition <= 3 * expected.condition);
      CHECK(found.condition >= expected.condition / 3);
    }
}

TEST_CASE("complex systems with bad numbers, scales, growth and no solution", "[complex][bad]") {
  const Exact s{20};
  const GridShape shape = grids(world().size()).front();
  const SolveOptions o = options(shape, 4);
  const auto b = RightHandSide::from_complex_function(
      1, [&](auto i, auto k) { return s.b(Transpose::no, i, k); });
  const auto matrix = [&](const std::function<Complex(std::int64_t, std::int64_t)>& a) {
    return Matrix::from_complex_function(s.n, a);
  };
  const auto with = [&](std::int64_t row, std::int64_t column, Complex value) {
    return matrix([=](std::int64_t i, std::int64_t j) {
      return i == row && j == column ? value : s.a(i, j);
    });
  };
  CHECK_THROWS_WITH(solve(MPI_COMM_WORLD, with(6, 2, {1, not_a_number}), b, o),
                    "the imaginary part of A(7, 3) is nan (counted from 1); allowed are finite "
                    "numbers");
  CHECK_THROWS_WITH(
      solve(MPI_COMM_WORLD, with(6, 2, {-std::numeric_limits<double>::infinity(), 0}), b, o),
      "the real part of A(7, 3) is -inf (counted from 1); allowed are finite numbers");
  const Vectors bad(static_cast<std::size_t>(s.n), Complex(0, not_a_number));
  CHECK_THROWS_WITH(solve(MPI_COMM_WORLD, matrix([&](auto i, auto j) { return s.a(i, j); }),
                          RightHandSide::complex_dense(1, bad.data(), s.n), o),
                    "the imaginary part of b(1, 1) is nan (counted from 1); allowed are finite "
                    "numbers");
  CHECK_THROWS_WITH(
      solve(MPI_COMM_WORLD, matrix([&](auto i, auto j) { return s.a(i, j); }),
            RightHandSide::from_function(1, [](auto, auto) { return 1.; }), o),
      "A is complex and b is real; allowed: a complex b, whose imaginary parts may be zero");
  CHECK_THROWS_AS(
      solve(MPI_COMM_WORLD, matrix([&](auto i, auto j) { return j == 13 ? 0. : s.a(i, j); }), b, o),
      SingularError);

  std::string words;
  try {
    words =
        solve(MPI_COMM_WORLD, matrix([&](auto i, auto j) { return s.a(i == 13 ? 4 : i, j); }), b, o)
            .doubt;
  } catch (const SingularError& error) {
    words = error.what();
  }
  CHECK_THAT(words, ContainsSubstring("singular"));

  // Rows and columns of very different sizes: x is scaled with them, exactly.
  const auto row_power = [](std::int64_t i) { return static_cast<int>(i % 5) * 150 - 300; };
  const auto column_power = [](std::int64_t j) { return static_cast<int>(j % 3) * 120 - 120; };
  const auto times = [](Complex z, int e) {
    return Complex(std::ldexp(z.real(), e), std::ldexp(z.imag(), e));
  };
  const Solution wide = solve(
      MPI_COMM_WORLD,
      matrix([&](auto i, auto j) { return times(s.a(i, j), row_power(i) + column_power(j)); }),
      RightHandSide::from_complex_function(
          1, [&](auto i, auto k) { return times(s.b(Transpose::no, i, k), row_power(i)); }),
      o);
  const std::span<const Complex> x = complex_of(wide.x);
  for (std::int64_t j = 0; j < std::ssize(x); ++j)
    CHECK(std::abs(times(x[static_cast<std::size_t>(j)], column_power(j)) - s.x(j, 0)) < 1e-12);

  // Wilkinson's matrix, whose entries grow by 2^(n-1), times a complex number.
  constexpr std::int64_t n = 70;
  const auto grows = [](std::int64_t i, std::int64_t j) {
    return Complex(3, 4) * (i == j || j == n - 1 ? 1. : i > j ? -1. : 0.);
  };
  const auto known = [](std::int64_t i) {
    return Complex(static_cast<double>(i % 7 - 3), static_cast<double>(i % 5 - 2));
  };
  Factorization factors(MPI_COMM_WORLD, Matrix::from_complex_function(n, grows),
                        options(shape, 16));
  for (const Transpose t : all_systems) {
    const Solution grown = factors.solve(
        RightHandSide::from_complex_function(1,
                                             [&](std::int64_t i, auto) {
                                               Complex sum = 0;
                                               for (std::int64_t j = 0; j < n; ++j)
                                                 sum += (t == Transpose::no ? grows(i, j)
                                                         : t == Transpose::yes
                                                             ? grows(j, i)
                                                             : std::conj(grows(j, i))) *
                                                        known(j);
                                               return sum;
                                             }),
        t);
    CHECK(grown.steps.back().rotated);
    CHECK(grown.converged);
    const std::span<const Complex> of_grown = complex_of(grown.x);
    for (std::int64_t i = 0; i < std::ssize(of_grown); ++i)
      CHECK(std::abs(of_grown[static_cast<std::size_t>(i)] - known(i)) < 1e-10);
  }
}

}  // namespace speedwell::test::complex_tests
