// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Conversion of one element to 16 bits and back, without a branch. All faster conversions have the
/// same results. Host and device code.
///
/// Values are rounded to nearest, ties to even. Subnormal arguments and results are not flushed to
/// zero. A NaN becomes a quiet NaN with the same sign and the upper bits of its payload. The F16C
/// instructions do the same.
#pragma once

#include <cstdint>

#include "core/scalar.hpp"
#include "element/element.hpp"

namespace speedwell {

// The builtin instead of std::bit_cast, which device code may not call.
SPEEDWELL_ELEMENT constexpr std::uint32_t bits_of(float value) {
  return __builtin_bit_cast(std::uint32_t, value);
}
SPEEDWELL_ELEMENT constexpr float float_of(std::uint32_t bits) {
  return __builtin_bit_cast(float, bits);
}

/// The nearest FP16 number; infinity for magnitudes from 65520 on.
SPEEDWELL_ELEMENT constexpr Half to_half(float value) {
  const std::uint32_t x = bits_of(value);
  const std::uint32_t magnitude = x & 0x7fffffffu;

  // Rounds off 13 fraction bits, and changes the exponent's bias from 127 to 15. A carry out of the
  // fraction increases the exponent, as it must. Magnitudes from 2^16 on become infinity.
  const std::uint32_t bounded = magnitude < 0x47800000u ? magnitude : 0x47800000u;
  const std::uint32_t odd = (bounded >> 13) & 1;
  const std::uint32_t normal = (bounded - 0x38000000u + 0xfff + odd) >> 13;

  // Below 2^-14, FP16 numbers are multiples of 2^-24. That is the last bit of 1/2 in FP32, so the
  // sum rounds to it.
  const std::uint32_t subnormal = bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u;

  // Masks: with conditional expressions, the compiler would branch instead of vectorizing.
  const std::uint32_t small = 0u - (magnitude < 0x38800000u);
  const std::uint32_t nan = 0u - (magnitude > 0x7f800000u);
  const std::uint32_t payload = 0x200 | ((magnitude >> 13) & 0x3ff);
  const std::uint32_t half = (subnormal & small) | (normal & ~small) | (payload & nan);
  return {static_cast<std::uint16_t>(((x >> 16) & 0x8000) | half)};
}

/// The FP32 number of the same value.
SPEEDWELL_ELEMENT constexpr float to_float(Half value) {
  const std::uint32_t magnitude = value.bits & 0x7fffu;
  const std::uint32_t subnormal =
      bits_of(static_cast<float>(static_cast<int>(magnitude)) * 0x1p-24f);
  const std::uint32_t quiet = magnitude > 0x7c00 ? 0x400000u : 0;
  std::uint32_t x = (magnitude << 13) + 0x38000000u;
  x = magnitude < 0x400 ? subnormal : x;
  x = magnitude >= 0x7c00 ? (0x7f800000u | (magnitude << 13) | quiet) : x;
  return float_of(x | (static_cast<std::uint32_t>(value.bits & 0x8000u) << 16));
}

/// The parts of an FP16x3 number: high + 2^-11 low.
struct HalfPair {
  Half high;
  Half low;
};

/// high = round(value), low = round(2^11 (value - high)). The difference and its multiple are exact
/// in FP32, and |low| <= max(|value|, 2^-14). For magnitudes below 2^15, high + 2^-11 low differs
/// from value by at most max(2^-23 |value|, 2^-36); docs/numerics.md, 3.3.
SPEEDWELL_ELEMENT constexpr HalfPair to_half_pair(float value) {
  const Half high = to_half(value);
  return {high, to_half((value - to_float(high)) * 0x1p11f)};
}

/// The nearest BF16 number.
SPEEDWELL_ELEMENT constexpr Bfloat16 to_bfloat16(float value) {
  const std::uint32_t x = bits_of(value);
  const std::uint32_t rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
  const std::uint32_t nan = (x >> 16) | 0x40;
  return {static_cast<std::uint16_t>((x & 0x7fffffffu) > 0x7f800000u ? nan : rounded)};
}

/// The FP32 number of the same value.
SPEEDWELL_ELEMENT constexpr float to_float(Bfloat16 value) {
  return float_of(static_cast<std::uint32_t>(value.bits) << 16);
}

/// 2^e. @pre -1022 <= e <= 1023
SPEEDWELL_ELEMENT constexpr double power_of_two(int e) {
  SPEEDWELL_ELEMENT_EXPECTS(-1022 <= e && e <= 1023);
  return __builtin_bit_cast(double, static_cast<std::uint64_t>(e + 1023) << 52);
}

/// The exponent e of the FP16 scale 2^e of a panel whose largest magnitude is `largest`: the
/// largest e <= 120 with largest 2^e < 2^15. Then nothing overflows, and as little as possible
/// becomes subnormal. 0 if `largest` is zero, infinite or NaN.
SPEEDWELL_ELEMENT constexpr int fp16_scale_exponent(float largest) {
  const std::uint32_t magnitude = bits_of(largest) & 0x7fffffffu;
  if (magnitude == 0 || magnitude >= 0x7f800000u) return 0;
  // largest = 1.f 2^(field - 127), so that largest 2^e has the exponent 14.
  const int e = 14 + 127 - static_cast<int>(magnitude >> 23);
  return e > 120 ? 120 : e;
}

}  // namespace speedwell
