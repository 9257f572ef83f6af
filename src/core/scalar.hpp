// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// 16-bit floating-point numbers as storage, and views of matrices of any precision.
#pragma once

#include <lupine/options.hpp>

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/expects.hpp"
#include "core/matrix_view.hpp"

namespace lupine {

/// FP16, IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Half {
  std::uint16_t bits = 0;
};

/// BF16, the upper half of an FP32 number: 1 sign bit, 8 exponent bits, 7 fraction bits.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

/// Bytes of one element; 2 for Precision::automatic.
constexpr std::int64_t bytes_of(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return 8;
    case Precision::fp32:
      return 4;
    default:
      return 2;
  }
}

/// The storage precision of the factors where the update reads `update`: FP64 for FP64, else FP32.
constexpr Precision storage_for(Precision update) {
  return update == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// The precision of an element type: precision_of<float> is Precision::fp32. Precision::automatic
/// for any other type.
template <class T>
inline constexpr Precision precision_of = Precision::automatic;
template <>
inline constexpr Precision precision_of<Half> = Precision::fp16;
template <>
inline constexpr Precision precision_of<Bfloat16> = Precision::bf16;
template <>
inline constexpr Precision precision_of<float> = Precision::fp32;
template <>
inline constexpr Precision precision_of<double> = Precision::fp64;

/// A view of a column-major matrix whose precision is chosen at run time: `data` points to elements
/// of type Half, Bfloat16, float or double, as `precision` says.
template <class Byte>
struct AnyView {
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  Precision precision = Precision::fp32;
  Byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  ///< elements from one column to the next, >= rows

  AnyView() = default;
  AnyView(Precision precision_, Byte* data_, std::int64_t rows_, std::int64_t columns_,
          std::int64_t ld_)
      : precision(precision_), data(data_), rows(rows_), columns(columns_), ld(ld_) {}
  template <class T>
  AnyView(const MatrixView<T>& m) requires(std::is_const_v<Byte> || !std::is_const_v<T>)
      : AnyView(precision_of<std::remove_const_t<T>>, reinterpret_cast<Byte*>(m.data), m.rows,
                m.columns, m.ld) {}
  template <class Other>
  AnyView(const AnyView<Other>& m) requires(std::is_const_v<Byte> && !std::is_const_v<Other>)
      : AnyView(m.precision, m.data, m.rows, m.columns, m.ld) {}

  bool empty() const { return rows == 0 || columns == 0; }
  /// Rows [i, i + m) and columns [j, j + n).
  AnyView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {precision, data + (i + j * ld) * bytes_of(precision), m, n, ld};
  }
  /// This matrix with elements of type T. @pre precision == precision_of<T>
  template <class T>
  MatrixView<Element<T>> as() const {
    LUPINE_EXPECTS(precision == precision_of<T>);
    return {reinterpret_cast<Element<T>*>(data), rows, columns, ld};
  }
};
using AnyMatrix = AnyView<std::byte>;
using ConstAnyMatrix = AnyView<const std::byte>;

/// Unit roundoff: half of the distance from 1 to the next larger number. `automatic` counts as
/// fp64.
constexpr double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return 0x1p-11;
    case Precision::bf16:
      return 0x1p-8;
    case Precision::fp32:
      return 0x1p-24;
    case Precision::fp64:
    case Precision::automatic:
      break;
  }
  return 0x1p-53;
}

/// Calls `use` with `m` as a MatrixView of double or of float, whichever `m` stores, and returns
/// its result. @pre m.precision is fp64 or fp32
template <class Byte, class Use>
decltype(auto) with_storage(const AnyView<Byte>& m, const Use& use) {
  LUPINE_EXPECTS(m.precision == Precision::fp64 || m.precision == Precision::fp32);
  return m.precision == Precision::fp64 ? use(m.template as<double>())
                                        : use(m.template as<float>());
}

}  // namespace lupine
