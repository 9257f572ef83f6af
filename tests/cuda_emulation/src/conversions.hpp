// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Numbers of 16 bits to FP32 and back, rounded to nearest, for the libraries on OpenBLAS.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

#include "blas.hpp"

namespace speedwell::emulation {

inline float from_half(std::uint16_t bits) {
  const std::uint32_t sign = std::uint32_t{bits & 0x8000u} << 16;
  const std::uint32_t rest = bits & 0x7fffu;
  const float small = std::bit_cast<float>(rest << 13) * 0x1p112f;
  const std::uint32_t wide =
      rest >= 0x7c00u ? (rest << 13 | 0x7f800000u) : std::bit_cast<std::uint32_t>(small);
  return std::bit_cast<float>(sign | wide);
}

inline std::uint16_t to_half(float value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000 : 0);
  const float magnitude = std::fabs(value);
  if (std::isnan(value)) return sign | 0x7e00;
  if (magnitude >= 65520) return sign | 0x7c00;
  const int exponent = magnitude < 0x1p-14f ? -14 : std::ilogb(magnitude);
  // From 2^10 on a normal number; a carry out of the fraction increases the exponent.
  const auto fraction = static_cast<int>(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
  return static_cast<std::uint16_t>(sign | (((exponent + 14) << 10) + fraction));
}

inline std::uint16_t to_bfloat16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The element at this place, in FP32.
inline float element(const Operand& from, std::int64_t at) {
  if (from.type == CUDA_R_16F) return from_half(static_cast<const std::uint16_t*>(from.data)[at]);
  if (from.type == CUDA_R_16BF) {
    const std::uint32_t bits = static_cast<const std::uint16_t*>(from.data)[at];
    return std::bit_cast<float>(bits << 16);
  }
  return static_cast<const float*>(from.data)[at];
}

}  // namespace speedwell::emulation
