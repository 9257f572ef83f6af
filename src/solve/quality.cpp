// SPDX-License-Identifier: BSD-3-Clause
#include "solve/quality.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "core/numbers.hpp"

namespace lupine {

namespace {

/// The largest exponent of the numbers v_i 2^exponents[i] that are not zero; nullopt if all are
/// zero.
std::optional<int> largest_exponent(const Vector& v, const std::vector<int>& exponents) {
  std::optional<int> most;
  for (std::size_t i = 0; i < v.size(); ++i)
    if (const std::optional<int> e = exponent(v[i]))
      most = std::max(most.value_or(std::numeric_limits<int>::min()), *e + exponents[i]);
  return most;
}

/// max_i |v_i| 2^(shift - exponents[i]). long double, because the result may be outside of FP64's
/// range. Infinity if v has an Inf or NaN.
long double largest_scaled(const Vector& v, const std::vector<int>& exponents, int shift) {
  if (!std::isfinite(largest(v))) return std::numeric_limits<long double>::infinity();
  long double most = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    most =
        std::max(most, std::fabs(std::ldexp(static_cast<long double>(v[i]), shift - exponents[i])));
  return most;
}

}  // namespace

int exponent_of(const Vector& b, const std::vector<int>& rows) {
  return largest_exponent(b, rows).value_or(0);
}

Vector scaled(const Vector& v, const std::vector<int>& exponents, int shift) {
  Vector result(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) result[i] = std::ldexp(v[i], exponents[i] + shift);
  return result;
}

Answer measured(System& system, const Equilibration& scales, int shift, const Vector& b,
                const RefineOutcome& outcome) {
  const VectorSpace of_rows(system.grid(), Layout::rows);
  const VectorSpace of_columns(system.grid(), Layout::columns);
  Answer answer;
  answer.y = outcome.x;
  answer.errors = system.errors(outcome.x, true);
  const System::Errors& errors = answer.errors;
  answer.x = scaled(of_columns.gather(system.columns(), outcome.x), scales.columns, shift);
  SolveColumn& column = answer.column;
  column.method = outcome.method;
  column.iterations = outcome.iterations;
  column.componentwise_error = system.componentwise_error(errors);
  column.forward_bound = unknown;
  const long double residual =
      largest_scaled(of_rows.gather(system.rows(), errors.residual), scales.rows, shift);
  const long double size =
      static_cast<long double>(system.norm_a()) * largest(answer.x) + largest(b);
  const double ratio = residual == 0 ? 0 : static_cast<double>(residual / size);
  // With an x beyond FP64's range the ratio would be 0, whatever the residual.
  const bool finite = std::isfinite(largest(answer.x));
  column.backward_error = finite ? ratio : std::numeric_limits<double>::infinity();
  column.hpl_residual = column.backward_error / (eps * static_cast<double>(system.n()));
  if (!finite) column.componentwise_error = std::numeric_limits<double>::infinity();
  return answer;
}

// C is divided by 2^top, where top is the exponent of ||C y||, so that neither norm overflows.
double forward_bound(const System& system, const WeightedInverseNorm& inverse_norm,
                     const Equilibration& scales, const Vector& y, const System::Errors& errors) {
  Vector f = errors.bound;
  for (std::size_t i = 0; i < f.size(); ++i)
    f[i] = std::fabs(errors.residual[i]) + static_cast<double>(system.n() + 1) * eps * f[i];
  const Vector whole_f = VectorSpace(system.grid(), Layout::rows).gather(system.rows(), f);
  const Vector whole_y = VectorSpace(system.grid(), Layout::columns).gather(system.columns(), y);
  if (largest(whole_f) == 0) return 0;
  const std::optional<int> top = largest_exponent(whole_y, scales.columns);
  if (!top) return std::numeric_limits<double>::infinity();
  const Vector ones(whole_y.size(), 1.0);
  const Vector left = scaled(ones, scales.columns, -*top);
  return inverse_norm(left, whole_f) / largest(scaled(whole_y, scales.columns, -*top));
}

double forward_bound(Factors& factors, const Equilibration& scales, const Vector& y,
                     const System::Errors& errors) {
  const auto inverse_norm = [&](const Vector& left, const Vector& right) {
    return factors.inverse().weighted_norm(left, right);
  };
  return forward_bound(factors.system(), inverse_norm, scales, y, errors);
}

}  // namespace lupine
