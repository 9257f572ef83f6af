// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Magnitudes as whole numbers, for loops that are compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "element/element.hpp"

namespace speedwell::SPEEDWELL_ISA {

namespace {

// Magnitudes compare as their bits do, as integers. Inf and NaN are above every finite number.
template <class T>
struct Bits;
template <>
struct Bits<float> {
  using Integer = std::int32_t;
  static constexpr Integer infinity = 0x7f800000;
};
template <>
struct Bits<double> {
  using Integer = std::int64_t;
  static constexpr Integer infinity = 0x7ff0000000000000;
};

template <class T>
SPEEDWELL_ELEMENT typename Bits<T>::Integer magnitude_bits(T value) {
  using Integer = typename Bits<T>::Integer;
  constexpr Integer all_but_sign = ~(Integer{1} << (8 * sizeof(T) - 1));
  return __builtin_bit_cast(Integer, value) & all_but_sign;
}

template <class T>
SPEEDWELL_ELEMENT typename Bits<T>::Integer largest_bits(const T* from, std::int64_t count) {
  typename Bits<T>::Integer bits = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto magnitude = magnitude_bits(from[i]);
    bits = magnitude > bits ? magnitude : bits;
  }
  return bits < Bits<T>::infinity ? bits : Bits<T>::infinity;
}

}  // namespace

}  // namespace speedwell::SPEEDWELL_ISA
