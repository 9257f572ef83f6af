// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the suites of speedwell::solve and of Factorization have in common.
#pragma once

#include <speedwell/solve.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"
#include "sources.hpp"

namespace speedwell::test {

/// Whether the tests run on GPUs, which are emulated and slow.
inline bool emulated() {
  return device_choice().device == DeviceKind::cuda;
}

/// Those of a small system, of this process alone.
inline SolveOptions small_options() {
  SolveOptions o;
  o.run.device = DeviceKind::cpu;
  o.run.threads = 1;
  return o;
}

/// A bound of the backward errors of an x of order n that is accepted.
inline double tolerance_of(std::int64_t n) {
  return std::max(4., std::sqrt(static_cast<double>(n))) * eps;
}

/// Checks that every rank has these numbers, to the last bit.
inline void check_equal(const std::vector<double>& mine) {
  std::vector<double> of_root = mine;
  world().broadcast(std::span(of_root), 0);
  CHECK((mine.empty() ||
         std::memcmp(mine.data(), of_root.data(), mine.size() * sizeof(double)) == 0));
}

inline void check_equal(const Solution& solution) {
  check_equal(solution.x);
  std::vector<double> all{solution.norm_a, solution.condition};
  for (const SolveColumn& c : solution.columns)
    for (const double value : {c.hpl_residual, c.backward_error, c.componentwise_error,
                               c.forward_bound, static_cast<double>(c.iterations)})
      all.push_back(value);
  check_equal(all);
}

inline constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

/// A x = b, well conditioned, whose b and x are numbers of FP64: entries of A have 30 bits behind
/// the point, and x is a small integer times a power of two.
struct Exact {
  std::int64_t n;

  double a(std::int64_t i, std::int64_t j) const {
    const double wave = std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j));
    return std::round(wave * 0x1p30) * 0x1p-30 + (i == j ? 8 : 0);
  }
  double x(std::int64_t i, std::int64_t k) const {
    return std::ldexp(static_cast<double>((i * 7 + k * 11) % 13 - 6), exponent(k)) *
           (is_zero(k) ? 0 : 1);
  }
  double b(std::int64_t i, std::int64_t k) const {
    if (k == nan_column && i == 5 % n) return not_a_number;
    if (k == inf_column && i == n - 1) return -std::numeric_limits<double>::infinity();
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += a(i, j) * x(j, k);
    return sum;
  }
  bool is_bad(std::int64_t k) const { return k == nan_column || k == inf_column; }
  bool is_zero(std::int64_t k) const { return k == zero_column; }
  int exponent(std::int64_t k) const {
    return k == huge_column ? 996 : k == tiny_column ? -990 : 0;
  }

  Matrix matrix() const {
    return Matrix::from_function(n, [me = *this](auto i, auto j) { return me.a(i, j); });
  }
  RightHandSide function(std::int64_t count) const {
    return RightHandSide::from_function(count, [me = *this](auto i, auto k) { return me.b(i, k); });
  }

  // Columns of b that are not as usual; -1: there is none.
  std::int64_t nan_column = -1;
  std::int64_t inf_column = -1;
  std::int64_t zero_column = -1;
  std::int64_t huge_column = -1;
  std::int64_t tiny_column = -1;
};

inline Errors errors_of(const Exact& s, std::span<const double> x, std::int64_t k) {
  return test::errors_of(
      s.n, [&](auto i, auto j) { return s.a(i, j); }, [&](auto i) { return s.b(i, k); },
      [&](auto i) { return s.x(i, k); }, x);
}

}  // namespace speedwell::test
