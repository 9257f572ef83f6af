// SPDX-License-Identifier: BSD-3-Clause
// Factorization::determinant() beside determinants that are known, on every grid.
#include <lupine/solve.hpp>

#include <cmath>
#include <complex>

#include "catch.hpp"
#include "pipeline.hpp"
#include "solutions.hpp"

namespace lupine::test::determinant_tests {
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

}  // namespace lupine::test::determinant_tests
