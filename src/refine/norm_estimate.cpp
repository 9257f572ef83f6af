// SPDX-License-Identifier: BSD-3-Clause
#include "refine/norm_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace lupine {

namespace {

constexpr int most_estimates = 5;

Vector signs(const Vector& v) {
  Vector s(v.size());
  std::transform(v.begin(), v.end(), s.begin(), [](double value) { return value < 0 ? -1. : 1.; });
  return s;
}

std::size_t largest_index(const Vector& v) {
  const auto smaller = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
  return static_cast<std::size_t>(std::max_element(v.begin(), v.end(), smaller) - v.begin());
}

Vector unit(std::size_t n, std::size_t j) {
  Vector e(n, 0.0);
  e[j] = 1;
  return e;
}

// x_i = (-1)^i (1 + i / (n - 1)) 2 / (3 n). Its product gives a second lower bound, for matrices on
// which the search over unit vectors finds too little.
Vector alternating(std::size_t n) {
  Vector x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = 1 + (n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0);
    x[i] = (i % 2 == 0 ? size : -size) * 2 / (3 * static_cast<double>(n));
  }
  return x;
}

}  // namespace

double sum_of_magnitudes(const Vector& v) {
  double sum = 0;
  for (const double value : v) sum += std::fabs(value);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

NormEstimate estimate_one_norm(std::int64_t order,
                               const std::function<Vector(const Vector&)>& apply,
                               const std::function<Vector(const Vector&)>& apply_transposed) {
  const auto n = static_cast<std::size_t>(order);
  // v = B x for x = (1/n, ..., 1/n), then for unit vectors x = e_j. Each ||v||_1 is a lower bound.
  NormEstimate best{0, Vector(n, 1 / static_cast<double>(order))};
  Vector v = apply(best.x);
  best.norm = sum_of_magnitudes(v);
  if (n == 1 || !std::isfinite(best.norm)) return best;
  Vector sign = signs(v);
  std::optional<std::size_t> column;
  for (int round = 0; round < most_estimates; ++round) {
    // B^T sign(v) is the gradient of ||B x||_1: its largest entry j says which e_j to try next.
    const Vector gradient = apply_transposed(sign);
    const std::size_t next = largest_index(gradient);
    if (column && std::fabs(gradient[next]) <= std::fabs(gradient[*column])) break;
    column = next;
    NormEstimate found{0, unit(n, next)};
    v = apply(found.x);
    found.norm = sum_of_magnitudes(v);
    if (!std::isfinite(found.norm)) return found;
    const Vector turned = signs(v);
    if (found.norm <= best.norm) break;
    best = std::move(found);
    if (turned == sign) break;
    sign = turned;
  }
  NormEstimate other{0, alternating(n)};
  other.norm = sum_of_magnitudes(apply(other.x));
  return other.norm > best.norm ? other : best;
}

}  // namespace lupine
