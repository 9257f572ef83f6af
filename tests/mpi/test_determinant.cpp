// SPDX-License-Identifier: BSD-3-Clause
// Factorization::determinant() beside determinants that are known, on every grid.
#include <speedwell/solve.hpp>

#include <cmath>
#include <complex>

#include "catch.hpp"
#include "pipeline.hpp"
#include "solutions.hpp"

namespace speedwell::test::determinant_tests {
namespace {

using Complex = std::complex<double>;

// L U with ones on L's diagonal and small whole numbers elsewhere: its entries are exact, and its
// determinant is the product of U's diagonal. Rows are moved on by one, a permutation of n - 1
// exchanges.
template <class T>
struct Known {
  std::int64_t n;

  T of_diagonal(std::int64_t i) const {
    const double size = i % 3 == 0 ? 3 : 2;
    if constexpr (std::is_same_v<T, double>)
      return i % 4 == 1 ? -size : size;
    else
      return i % 4 == 1 ? T(0, size) : T(size, -1);
  }
  T entry(std::int64_t i, std::int64_t j) const {
    const std::int64_t row = (i + 1) % n;
    T sum = 0;
    for (std::int64_t k = 0; k <= std::min(row, j); ++k) {
      const T l = row == k ? T(1) : T(static_cast<double>((row + 2 * k) % 3 - 1) / 4);
      const T u = k == j ? of_diagonal(k) : T(static_cast<double>((3 * k + j) % 5 - 2) / 4);
      sum += l * u;
    }
    return sum;
  }
  Matrix matrix() const {
    const auto element = [me = *this](std::int64_t i, std::int64_t j) { return me.entry(i, j); };
    if constexpr (std::is_same_v<T, double>)
      return Matrix::from_function(n, element);
    else
      return Matrix::from_complex_function(n, element);
  }
  void check(const Determinant& found) const {
    Complex sign = (n - 1) % 2 == 0 ? 1 : -1;
    double logarithm = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      sign *= Complex(of_diagonal(i)) / std::abs(of_diagonal(i));
      logarithm += std::log(std::abs(of_diagonal(i)));
    }
    CHECK(std::abs(found.sign - sign) < 1e-12);
    CHECK(found.log_magnitude == Approx(logarithm).epsilon(1e-12).margin(1e-12));
    check_equal({found.sign.real(), found.sign.imag(), found.log_magnitude});
  }
};

}  // namespace

TEMPLATE_TEST_CASE("determinants of known matrices on every grid", "[determinant]", double,
                   Complex) {
  for (const GridShape shape : grids(world().size()))
    for (const std::int64_t n : {1, 2, 19})
      for (const Precision first : {Precision::automatic, Precision::fp32, Precision::fp64}) {
        CAPTURE(shape.nprow, shape.npcol, n, name(first));
        const Known<TestType> known{n};
        SolveOptions o = options(shape, 4);
        o.first = first;
        Factorization factors(MPI_COMM_WORLD, known.matrix(), o);
        known.check(factors.determinant());
        CHECK(factors.precision() == Precision::fp64);
        known.check(factors.determinant());
      }
  SolveOptions low = options(grids(world().size()).front(), 4, Precision::fp32);
  Factorization factors(MPI_COMM_WORLD, Known<TestType>{7}.matrix(), low);
  CHECK_THROWS_WITH(factors.determinant(),
                    "a determinant needs factors in FP64; precision is fp32; allowed: auto, fp64");
}

TEST_CASE("the determinant of a small matrix, also of one that is taken over",
          "[determinant][small]") {
  if (world().size() > 1) return;
  const Known<double> known{30};
  known.check(Factorization(MPI_COMM_SELF, known.matrix(), small_options()).determinant());
  const Known<Complex> of_complex{30};
  of_complex.check(
      Factorization(MPI_COMM_SELF, of_complex.matrix(), small_options()).determinant());
  // Wilkinson's matrix of order 70: its entries grow, and its determinant is 2^69.
  const auto wilkinson = [](std::int64_t i, std::int64_t j) {
    return i == j || j == 69 ? 1. : i > j ? -1. : 0.;
  };
  Factorization grown(MPI_COMM_SELF, Matrix::from_function(70, wilkinson), small_options());
  grown.solve(RightHandSide::from_function(1, [](auto i, auto) { return static_cast<double>(i); }));
  CHECK(grown.determinant().log_magnitude == Approx(69 * std::log(2.)).epsilon(1e-10));
  CHECK(grown.determinant().sign == Complex(1));
}

TEST_CASE("determinants of growing entries are those of rotated factors, on every grid",
          "[determinant]") {
  // [W d; b^T c] of order 61: W is Wilkinson's matrix, whose entries grow by 2^59, and leave
  // nothing of c - b^T W^-1 d = 1/2. Its determinant is 2^58.
  constexpr std::int64_t m = 60;
  const auto w = [](std::int64_t i, std::int64_t j) {
    return i == j || j == m - 1 ? 1. : i > j ? -1. : 0.;
  };
  // W z = d for z of whole numbers, so that c is one, but for the half.
  const auto z = [](std::int64_t i) { return static_cast<double>(i % 5 - 2); };
  const auto b = [](std::int64_t j) { return static_cast<double>((7 * j) % 3 - 1) / 2; };
  const auto element = [&](std::int64_t i, std::int64_t j) {
    if (i < m && j < m) return w(i, j);
    if (i == m && j < m) return b(j);
    double sum = i == m ? 0.5 : 0;
    for (std::int64_t k = 0; k < m; ++k) sum += (i == m ? b(k) : w(i, k)) * z(k);
    return sum;
  };
  const auto transposed = [&](std::int64_t i, std::int64_t j) { return element(j, i); };
  const auto check = [](Factorization& factors) {
    for (int call = 0; call < 2; ++call) {
      const Determinant found = factors.determinant();
      CHECK(found.doubt.empty());
      CHECK(found.sign == Complex(1));
      CHECK(found.log_magnitude == Approx(58 * std::log(2.)).epsilon(1e-12));
      check_equal({found.mantissa.real(), static_cast<double>(found.exponent)});
    }
  };
  for (const GridShape shape : grids(world().size()))
    for (const Precision first : {Precision::automatic, Precision::fp32, Precision::fp64}) {
      CAPTURE(shape.nprow, shape.npcol, name(first));
      SolveOptions o = options(shape, 4);
      o.first = first;
      Factorization plain(MPI_COMM_WORLD, Matrix::from_function(m + 1, element), o);
      check(plain);
      Factorization other(MPI_COMM_WORLD, Matrix::from_function(m + 1, transposed), o);
      check(other);
    }
  if (world().size() > 1) return;
  Factorization small(MPI_COMM_SELF, Matrix::from_function(m + 1, element), small_options());
  check(small);
}

TEST_CASE("determinants without a digit are doubts, those of 0 are none, powers of two are exact",
          "[determinant]") {
  const auto near = [](std::int64_t i, std::int64_t j) {
    return i == 2 && j == 2 ? 9 + 0x1p-49 : static_cast<double>(3 * i + j + 1);
  };
  const auto zero = [](std::int64_t i, std::int64_t j) {
    return static_cast<double>(3 * i + j + 1);
  };
  const auto power = [](std::int64_t i, std::int64_t j) {
    return i == (j + 1) % 21 ? std::ldexp(-1., static_cast<int>(j % 2 == 0 ? 900 : -800)) : 0.;
  };
  for (const GridShape shape : grids(world().size())) {
    SolveOptions o = options(shape, 4, Precision::fp64);
    CAPTURE(shape.nprow, shape.npcol);
    const Determinant found =
        Factorization(MPI_COMM_WORLD, Matrix::from_function(21, power), o).determinant();
    CHECK(found.mantissa == Complex(-0.5));
    CHECK(found.exponent == 11 * 900 - 10 * 800 + 1);
    CHECK(found.doubt.empty());
    try {
      Factorization doubtful(MPI_COMM_WORLD, Matrix::from_function(3, near), o);
      CHECK_FALSE(doubtful.determinant().doubt.empty());
      o.strict = true;
      Factorization strict(MPI_COMM_WORLD, Matrix::from_function(3, near), o);
      CHECK_THROWS_AS(strict.determinant(), AccuracyError);
      o.strict = false;
      Factorization singular(MPI_COMM_WORLD, Matrix::from_function(3, zero), o);
      const Determinant of_zero = singular.determinant();
      CHECK((world().size() > 1 || (of_zero.sign == Complex(0) && of_zero.doubt.empty())));
    } catch (const SingularError& error) {
      CHECK(error.pivot() >= 0);  // by roundings, on some grids
    }
  }
}

}  // namespace speedwell::test::determinant_tests
