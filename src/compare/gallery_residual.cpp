// SPDX-License-Identifier: BSD-3-Clause
#include "compare/gallery_residual.hpp"

#include <speedwell/benchmark_result.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <span>
#include <type_traits>
#include <vector>

#include "core/expects.hpp"
#include "device/cpu/dense.hpp"
#include "refine/refinement.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t strip_rows = 256;  // of A, that one product takes

/// The larger of two numbers of at least 0, or NaN if one of them is.
double larger(double a, double b) {
  return a >= b || std::isnan(a) ? a : b;
}

double largest(const double* values, std::int64_t count) {
  double most = 0;
  for (std::int64_t i = 0; i < count; ++i) most = larger(most, std::abs(values[i]));
  return most;
}

/// Of complex elements, |re| + |im|.
double infinity_norm(MatrixView<const double> a, Field field) {
  const std::int64_t parts = parts_of(field);
  std::vector<double> sums(static_cast<std::size_t>(a.rows / parts));
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      sums[static_cast<std::size_t>(i / parts)] += std::abs(a(i, j));
  return largest(sums.data(), std::ssize(sums));
}

/// r <- r - a x, of numbers or of complex elements.
void subtract_product(Field field, MatrixView<const double> a, MatrixView<const double> x,
                      MatrixView<double> r) {
  if (field == Field::real) return multiply_add(-1, a, x, r);
  using Complex = std::complex<double>;
  const auto elements = []<class T>(MatrixView<T> numbers) {
    using Element = std::conditional_t<std::is_const_v<T>, const Complex, Complex>;
    return MatrixView<Element>{reinterpret_cast<Element*>(numbers.data), numbers.rows / 2,
                               numbers.columns, numbers.ld / 2};
  };
  multiply_add(Complex(-1), elements(a), elements(x), elements(r));
}

/// Raises a norm of each column's to that of v's column.
void raise(std::span<SystemNorms> norms, double SystemNorms::*norm, MatrixView<const double> v) {
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < v.columns; ++k) {
    double& most = norms[static_cast<std::size_t>(k)].*norm;
    most = larger(most, largest(v.column(k), v.rows));
  }
}

}  // namespace

double gallery_residual(const GallerySystem& system, MatrixView<const double> x) {
  SPEEDWELL_EXPECTS(x.rows == system.numbers() && x.columns >= 1);
  const std::int64_t n = system.n();
  const std::int64_t parts = parts_of(system.field());
  const std::int64_t height = std::min(n, strip_rows);
  std::vector<double> of_a(static_cast<std::size_t>(parts * height * n));
  std::vector<double> of_r(static_cast<std::size_t>(parts * height * x.columns));
  std::vector<SystemNorms> norms(static_cast<std::size_t>(x.columns));
  double norm_a = 0;
  for (std::int64_t row = 0; row < n; row += height) {
    const MatrixView<double> a{of_a.data(), parts * std::min(height, n - row), n, parts * height};
    const MatrixView<double> r{of_r.data(), a.rows, x.columns, parts * height};
    system.fill(a, row);
#pragma omp parallel for schedule(static)
    for (std::int64_t k = 0; k < r.columns; ++k)
      for (std::int64_t i = 0; i < r.rows; ++i)
        r(i, k) = system.right_hand_side(parts * row + i, k);
    norm_a = larger(norm_a, infinity_norm(a, system.field()));
    raise(norms, &SystemNorms::b, r);
    subtract_product(system.field(), a, x, r);
    raise(norms, &SystemNorms::residual, r);
  }
  raise(norms, &SystemNorms::x, x);
  double worst = 0;
  for (SystemNorms& column : norms) {
    column.a = norm_a;
    worst = larger(worst, scaled_residual(column, x.rows));
  }
  return worst;
}

}  // namespace speedwell
