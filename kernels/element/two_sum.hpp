// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Sums and products with their rounding errors, of which numbers of twice FP64's precision are
/// made: the pair (high, low) stands for high + low, where |low| is at most eps |high|. Sources:
/// docs/numerics.md, section 4.6. Contraction of operations would break them: the compiler is told
/// -ffp-contract=off.
#pragma once

#include <cmath>

#include "element/element.hpp"

namespace speedwell {

/// A rounded result and its error: their sum is the exact result.
template <class T>
struct WithError {
  T value;
  T error;
};

/// a + b, exactly, unless the sum overflows. T is double, or a vector of them.
template <class T>
SPEEDWELL_ELEMENT WithError<T> two_sum(T a, T b) {
  const T sum = a + b;
  const T of_b = sum - a;
  return {sum, (a - (sum - of_b)) + (b - of_b)};
}

/// a b, exactly, unless the product overflows or its error, 2^-53 of it, underflows.
SPEEDWELL_ELEMENT WithError<double> two_product(double a, double b) {
  const double product = a * b;
  return {product, fma(a, b, -product)};
}

/// (high, low) <- (high, low) + (value, error), with an error of about 2^-105 of the summands.
template <class T>
SPEEDWELL_ELEMENT void add_pair(T& high, T& low, T value, T error) {
  const WithError<T> sum = two_sum(high, value);
  const WithError<T> normal = two_sum(sum.value, (low + error) + sum.error);
  high = normal.value;
  low = normal.error;
}

}  // namespace speedwell
