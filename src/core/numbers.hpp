// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Constants and roundings that every layer needs. They are constexpr, so GPU kernels use them too.
#pragma once

#include <cstdint>
#include <limits>

namespace speedwell {

/// Unit roundoff of FP64, 2^-53: half of std::numeric_limits<double>::epsilon().
inline constexpr double eps = 0x1p-53;
/// Stands for a number that was not measured or does not exist: NaN.
inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// a / b, rounded up, for a >= 0 and b > 0. Does not overflow.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// The smallest multiple of `unit` that is at least `value`, for value >= 0 and unit > 0.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

}  // namespace speedwell
