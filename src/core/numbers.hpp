// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Numbers and divisions that every layer needs. For hosts and, being constexpr, for kernels.
#pragma once

#include <cstdint>
#include <limits>

namespace lupine {

/// Unit roundoff of FP64, 2^-53: half of std::numeric_limits<double>::epsilon().
inline constexpr double eps = 0x1p-53;
/// What a number is that has not been measured, or that has no value.
inline constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

/// a / b, rounded up, for any a >= 0: nothing overflows. b > 0.
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b > 0 ? 1 : 0);
}

/// The smallest multiple of `unit` that is not below `value`. value >= 0 and unit > 0.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t unit) {
  return ceil_div(value, unit) * unit;
}

}  // namespace lupine
