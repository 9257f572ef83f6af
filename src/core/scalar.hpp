// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// 16-bit floating-point numbers as storage, and views of matrices of any precision.
#pragma once

#include <speedwell/options.hpp>

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "core/expects.hpp"
#include "core/matrix_view.hpp"

namespace speedwell {

/// FP16, IEEE 754 binary16: 1 sign bit, 5 exponent bits, 10 fraction bits.
struct Half {
  std::uint16_t bits = 0;
};

/// BF16, the upper half of an FP32 number: 1 sign bit, 8 exponent bits, 7 fraction bits.
struct Bfloat16 {
  std::uint16_t bits = 0;
};

/// Bytes of one element, all its parts together; 2 for Precision::automatic.
constexpr std::int64_t bytes_of(Precision precision) {
  switch (precision) {
    case Precision::fp64:
      return 8;
    case Precision::fp32:
    case Precision::fp16x3:
      return 4;
    default:
      return 2;
  }
}

/// The numbers of which one element is the sum: 2 for FP16x3, whose parts lie in different planes
/// (see AnyView), else 1.
constexpr std::int64_t planes_of(Precision precision) {
  return precision == Precision::fp16x3 ? 2 : 1;
}

/// Whether elements are FP16 numbers, whose small range asks for a scale.
constexpr bool needs_scale(Precision precision) {
  return precision == Precision::fp16 || precision == Precision::fp16x3;
}

/// 2^-11, the weight of an FP16x3 element's low part: the element is high + 2^-11 low.
inline constexpr float low_weight = 0x1p-11f;

/// The storage precision of the factors where the update reads `update`: FP64 for FP64, else FP32.
constexpr Precision storage_for(Precision update) {
  return update == Precision::fp64 ? Precision::fp64 : Precision::fp32;
}

/// Whose numbers the elements of a matrix are. A complex element is a pair of numbers of the
/// matrix's precision: its real part, then its imaginary part.
enum class Field { real, complex };

/// The numbers of one element.
constexpr std::int64_t parts_of(Field field) {
  return field == Field::complex ? 2 : 1;
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
template <class T>
inline constexpr Precision precision_of<std::complex<T>> = precision_of<T>;

/// The field of an element type.
template <class T>
inline constexpr Field field_of = Field::real;
template <class T>
inline constexpr Field field_of<std::complex<T>> = Field::complex;

/// A view of a column-major matrix whose precision and field are chosen at run time: `data` points
/// to elements of type Half, Bfloat16, float or double, as `precision` says, or of complex ones of
/// FP32 or FP64.
///
/// An FP16x3 element is a sum of two Half, high + 2^-11 low. Its column of 4 ld bytes holds the
/// high parts of all rows, and from 2 ld bytes on the low parts. So each plane of parts is a matrix
/// of Half that products can read, and columns remain whole: memory and messages of ld * columns *
/// bytes_of(precision) bytes hold the matrix in this precision too.
template <class Byte>
struct AnyView {
  template <class T>
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;

  Precision precision = Precision::fp32;
  Byte* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  ///< elements from one column to the next, >= rows
  Field field = Field::real;

  AnyView() = default;
  AnyView(Precision precision_, Byte* data_, std::int64_t rows_, std::int64_t columns_,
          std::int64_t ld_, Field field_ = Field::real)
      : precision(precision_),
        data(data_),
        rows(rows_),
        columns(columns_),
        ld(ld_),
        field(field_) {}
  template <class T>
  AnyView(const MatrixView<T>& m) requires(std::is_const_v<Byte> || !std::is_const_v<T>)
      : AnyView(precision_of<std::remove_const_t<T>>, reinterpret_cast<Byte*>(m.data), m.rows,
                m.columns, m.ld, field_of<std::remove_const_t<T>>) {}
  template <class Other>
  AnyView(const AnyView<Other>& m) requires(std::is_const_v<Byte> && !std::is_const_v<Other>)
      : AnyView(m.precision, m.data, m.rows, m.columns, m.ld, m.field) {}

  bool empty() const { return rows == 0 || columns == 0; }
  /// Bytes of one element.
  std::int64_t element_bytes() const { return bytes_of(precision) * parts_of(field); }
  /// Rows [i, i + m) and columns [j, j + n).
  AnyView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    const std::int64_t bytes = element_bytes();
    return {precision, data + i * (bytes / planes_of(precision)) + j * ld * bytes, m, n, ld, field};
  }
  /// The numbers of a complex matrix as a real one of twice as many rows: under each real part its
  /// imaginary part. A real matrix itself.
  AnyView real() const {
    const std::int64_t parts = parts_of(field);
    return {precision, data, parts * rows, columns, parts * ld};
  }
  /// The planes of the high and of the low parts of an FP16x3 matrix.
  MatrixView<Element<Half>> high() const { return plane(0); }
  MatrixView<Element<Half>> low() const { return plane(1); }
  /// This matrix with elements of type T. @pre precision == precision_of<T>, field == field_of<T>
  template <class T>
  MatrixView<Element<T>> as() const {
    SPEEDWELL_EXPECTS(precision == precision_of<T> && field == field_of<T>);
    return {reinterpret_cast<Element<T>*>(data), rows, columns, ld};
  }

 private:
  /// @pre precision == Precision::fp16x3
  MatrixView<Element<Half>> plane(std::int64_t index) const {
    SPEEDWELL_EXPECTS(precision == Precision::fp16x3);
    return {reinterpret_cast<Element<Half>*>(data) + index * ld, rows, columns, 2 * ld};
  }
};
using AnyMatrix = AnyView<std::byte>;
using ConstAnyMatrix = AnyView<const std::byte>;

/// Unit roundoff u: half of the distance from 1 to the next larger number. A product of two rounded
/// numbers differs from that of the exact ones by 2 u, relatively; FP16x3's u is defined by that,
/// since it leaves out the product of the low parts. `automatic` counts as fp64.
constexpr double unit_roundoff(Precision precision) {
  switch (precision) {
    case Precision::fp16:
      return 0x1p-11;
    case Precision::bf16:
      return 0x1p-8;
    case Precision::fp16x3:
      return 0x1p-22;
    case Precision::fp32:
      return 0x1p-24;
    case Precision::fp64:
    case Precision::automatic:
      break;
  }
  return 0x1p-53;
}

/// `m` as a matrix of any type of its elements' size: for moves of whole elements.
template <class T, class Byte>
MatrixView<std::conditional_t<std::is_const_v<Byte>, const T, T>> elements_of(
    const AnyView<Byte>& m) {
  using Element = std::conditional_t<std::is_const_v<Byte>, const T, T>;
  SPEEDWELL_EXPECTS(m.element_bytes() == std::int64_t{sizeof(T)});
  return {reinterpret_cast<Element*>(m.data), m.rows, m.columns, m.ld};
}

/// Calls `use` with `m` as a MatrixView of complex double, double, float or 16-bit integers,
/// whichever has the size of its elements: for moves of whole elements.
/// @pre m.precision is not fp16x3
template <class Byte, class Use>
decltype(auto) with_elements(const AnyView<Byte>& m, const Use& use) {
  SPEEDWELL_EXPECTS(planes_of(m.precision) == 1);
  switch (m.element_bytes()) {
    case 16:
      return use(elements_of<std::complex<double>>(m));
    case 8:
      return use(elements_of<double>(m));
    case 4:
      return use(elements_of<float>(m));
    default:
      return use(elements_of<std::uint16_t>(m));
  }
}

/// Calls `use` with `m` as a MatrixView of double or of float, whichever `m` stores, and returns
/// its result. @pre m.precision is fp64 or fp32
template <class Byte, class Use>
decltype(auto) with_storage(const AnyView<Byte>& m, const Use& use) {
  SPEEDWELL_EXPECTS(m.precision == Precision::fp64 || m.precision == Precision::fp32);
  return m.precision == Precision::fp64 ? use(m.template as<double>())
                                        : use(m.template as<float>());
}

/// The same for complex matrices too, with views of std::complex.
template <class Byte, class Use>
decltype(auto) with_numbers(const AnyView<Byte>& m, const Use& use) {
  if (m.field == Field::real) return with_storage(m, use);
  SPEEDWELL_EXPECTS(m.precision == Precision::fp64 || m.precision == Precision::fp32);
  return m.precision == Precision::fp64 ? use(m.template as<std::complex<double>>())
                                        : use(m.template as<std::complex<float>>());
}

}  // namespace speedwell
