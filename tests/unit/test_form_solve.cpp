// SPDX-License-Identifier: BSD-3-Clause
// solve_form(): what it accepts, and what it leaves to a Solver. python/tests/test_judged.py tries
// hostile systems.
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

#include "catch.hpp"
#include "core/scalar.hpp"
#include "host/lapack.hpp"
#include "solve/form_solve.hpp"

namespace speedwell::test::form_solve_tests {
namespace {

using Complex = std::complex<double>;
constexpr std::uint64_t seed = 1;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

template <class T>
struct Square {
  std::int64_t n;
  std::vector<T> values = std::vector<T>(static_cast<std::size_t>(n * n));
  MatrixView<T> view() { return {values.data(), n, n, n}; }
  T& operator()(std::int64_t i, std::int64_t j) { return view()(i, j); }
};

template <class T>
T number(std::int64_t i, std::int64_t j) {
  const auto re = static_cast<double>((7 * i + 3 * j) % 11 - 5);
  if constexpr (field_of<T> == Field::complex)
    return {re, static_cast<double>((5 * i + 2 * j) % 7 - 3)};
  else
    return re;
}

// Whether A reads element (i, j).
bool is_read(const FormOptions& options, std::int64_t i, std::int64_t j) {
  switch (options.form) {
    case MatrixForm::general:
      return true;
    case MatrixForm::banded:
      return i - j <= options.below && j - i <= options.above;
    case MatrixForm::upper_triangular:
      return i <= j;
    case MatrixForm::lower_triangular:
      return i >= j;
    default:
      return options.lower ? i >= j : i <= j;
  }
}

template <class T>
Square<T> matrix(const FormOptions& options, std::int64_t n) {
  Square<T> a{n};
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      a(i, j) = !is_read(options, i, j) ? T(nan)
                : i == j                ? T(static_cast<double>(20 * n))
                                        : number<T>(i, j);
  return a;
}

}  // namespace

TEMPLATE_TEST_CASE("form_solve: every form", "[form]", double, Complex) {
  if (!has_lapack()) return;
  using T = TestType;
  const std::int64_t n = GENERATE(1, 2, 7, 40);
  const std::int64_t count = GENERATE(1, 3, 20);
  const MatrixForm form =
      GENERATE(MatrixForm::general, MatrixForm::symmetric, MatrixForm::hermitian,
               MatrixForm::positive_definite, MatrixForm::banded, MatrixForm::upper_triangular,
               MatrixForm::lower_triangular);
  const bool lower = GENERATE(false, true);
  const double size = GENERATE(1.0, 0x1p120);
  const FormOptions options{form, lower, n > 3 ? 3 : 0, n > 3 ? 1 : 0};
  Square<T> a = matrix<T>(options, n);
  // Rows and columns of different sizes, which make no difference but for a scale.
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) a(i, j) *= (i % 2 ? size : 1.0) * (j % 2 ? size : 1.0);
  make_whole(options, a.view());
  std::vector<T> x(static_cast<std::size_t>(n * count));
  std::vector<T> b(x.size());
  std::vector<T> found(x.size());
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t j = 0; j < n; ++j) {
      x[static_cast<std::size_t>(j + k * n)] = number<T>(j + 1, k) / (j % 2 ? size : 1.0);
      for (std::int64_t i = 0; i < n; ++i)
        b[static_cast<std::size_t>(i + k * n)] += a(i, j) * x[static_cast<std::size_t>(j + k * n)];
    }
  const MatrixView<T> result{found.data(), n, count, n};
  CAPTURE(n, count, static_cast<int>(form), lower, size);
  const int info =
      solve_form<T>(options, a.view(), MatrixView<const T>{b.data(), n, count, n}, result, 0, seed);
  // Of scaled systems, not every form has an x whose errors are bounded well enough.
  const bool few = count <= 8;
  const bool triangular =
      form == MatrixForm::upper_triangular || form == MatrixForm::lower_triangular;
  if (size == 1 || (few && !triangular)) REQUIRE(info == 0);
  if (info != 0) return;
  // Of few, errors are componentwise; of many, by norms.
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double scale = few && (static_cast<std::int64_t>(i) % n) % 2 ? size : 1.0;
    CHECK(std::abs(found[i] - x[i]) * scale <= 1e-13);
  }
}

TEST_CASE("form_solve: what is left to a Solver", "[form]") {
  if (!has_lapack()) return;
  const auto told = [](MatrixForm form, std::vector<double> a, double b) {
    std::vector<double> sides{b, b};
    std::vector<double> x(2);
    return solve_form<double>({.form = form}, {a.data(), 2, 2, 2},
                              MatrixView<const double>{sides.data(), 2, 1, 2}, {x.data(), 2, 1, 2},
                              0, seed);
  };
  CHECK(told(MatrixForm::symmetric, {2, 1, 1, 2}, 1) == 0);
  CHECK(told(MatrixForm::symmetric, {1, 1, 1, 1}, 1) == -1);
  CHECK(told(MatrixForm::symmetric, {1, 1, 1, 1 + 1e-14}, 1) == -1);
  CHECK(told(MatrixForm::general, {0, 1, 0, 1}, 1) == -1);
  CHECK(told(MatrixForm::positive_definite, {1, 2, 2, 1}, 1) == 2);
  CHECK(told(MatrixForm::positive_definite, {-1, 0, 0, 1}, 1) == 1);
  CHECK(told(MatrixForm::general, {1e-300, 0, 0, 1e-300}, 1e300) == -1);  // overflow
  CHECK(told(MatrixForm::general, {1e100, 0, 0, 1e100}, 1e-300) == -1);   // underflow
  CHECK(told(MatrixForm::general, {1, 0, 0, 1}, 1e308) == 0);
  CHECK(told(MatrixForm::general, {1, 0, 0, 1}, 0) == 0);
}

}  // namespace speedwell::test::form_solve_tests
