/// @file
/// 16-bit floating point as storage, and the sizes of what an update reads.
#pragma once

#include <lupine/options.hpp>

#include <cstddef>
#include <cstdint>

namespace lupine {

/// IEEE 754 binary16: 1 sign, 5 exponent, 10 fraction bits.
struct Half {
  std::uint16_t bits = 0;
};

/// The upper half of a binary32: 1 sign, 8 exponent, 7 fraction bits.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

/// Bytes of one element as the update reads it and the network carries it.
constexpr std::int64_t bytes_of(Precision precision) {
  return precision == Precision::fp32 ? 4 : 2;
}

/// A matrix of any update precision: `data` points to Half, Bfloat16 or float.
template <class Byte>
struct LowView {
  Precision precision = Precision::fp32;
  Byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;

  LowView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {precision, data + (i + j * ld) * bytes_of(precision), m, n, ld};
  }
  operator LowView<const Byte>() const { return {precision, data, rows, cols, ld}; }
};
using LowMatrix = LowView<std::byte>;
using ConstLowMatrix = LowView<const std::byte>;

}  // namespace lupine
