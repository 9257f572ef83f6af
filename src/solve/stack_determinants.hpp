// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Determinants of many matrices of one order, at about LAPACK's cost.
#pragma once

#include <complex>
#include <cstdint>
#include <functional>

#include "core/numbers.hpp"

namespace speedwell {

/// What is known of the determinant of one matrix of a stack.
struct StackDeterminant {
  std::complex<double> mantissa{};  ///< as Determinant has them
  std::int64_t exponent = 0;
  std::complex<double> sign{};
  double log_magnitude = unknown;
};

/// Calls found(k, determinant) for each of `count` matrices of order n, each n^2 numbers without
/// gaps, by rows or by columns, for those whose determinant is beyond doubt: by an LU with partial
/// pivoting of A as it is, where entries do not grow, and an upper bound of the condition number by
/// random vectors says that digits are certain; and where the determinant is exactly 0. Of the
/// others nothing is said: a Factorization decides. `found` is called by several threads.
/// @param threads side by side for small matrices; of the BLAS for larger ones
/// @pre n >= 1; T is double or std::complex<double>
template <class T>
void stack_determinants(const T* a, std::int64_t count, std::int64_t n, int threads,
                        const std::function<void(std::int64_t, const StackDeterminant&)>& found);

}  // namespace speedwell
