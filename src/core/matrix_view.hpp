// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A column-major matrix in memory that the view does not own.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <type_traits>

#include "core/numbers.hpp"

namespace speedwell {

template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t ld = 0;  ///< elements from one column to the next, >= rows

  constexpr T& operator()(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
  constexpr T* column(std::int64_t j) const { return data + j * ld; }
  constexpr bool empty() const { return rows == 0 || columns == 0; }

  /// Rows [i, i + m) and columns [j, j + n).
  constexpr MatrixView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {data + i + j * ld, m, n, ld};
  }
  template <class U>
  requires std::is_same_v<U, const T>
  constexpr operator MatrixView<U>() const { return {data, rows, columns, ld}; }
};

/// One entry of a matrix: its row, column and value.
struct MatrixEntry {
  std::int64_t row = 0;
  std::int64_t column = 0;
  double value = 0;
};

/// The other one of A and A^T.
constexpr Transpose operator!(Transpose transpose) {
  return transpose == Transpose::no ? Transpose::yes : Transpose::no;
}

/// A factor of an LU factorization, where both share the memory of a square matrix.
enum class Triangle {
  unit_lower,  ///< L, whose ones on the diagonal are not stored
  upper        ///< U
};

/// The distance of two columns, in elements, for a matrix of `rows` rows: a multiple of the cache
/// line's `line` elements, and not of 512, where many columns would share the same few cache sets.
constexpr std::int64_t leading_dimension(std::int64_t rows, std::int64_t line) {
  constexpr std::int64_t page = 512;
  const std::int64_t whole = round_up(rows, line);
  return whole % page == 0 ? whole + line : whole;
}

}  // namespace speedwell
