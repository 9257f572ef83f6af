/// @file
/// A column-major matrix in somebody else's memory.
#pragma once

#include <cstdint>
#include <type_traits>

namespace lupine {

template <class T>
struct MatrixView {
  T* data = nullptr;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  std::int64_t ld = 0;  ///< elements from one column to the next, >= rows

  constexpr T& operator()(std::int64_t i, std::int64_t j) const { return data[i + j * ld]; }
  constexpr T* column(std::int64_t j) const { return data + j * ld; }
  constexpr bool empty() const { return rows == 0 || cols == 0; }

  /// Rows [i, i + m) and columns [j, j + n).
  constexpr MatrixView block(std::int64_t i, std::int64_t j, std::int64_t m, std::int64_t n) const {
    return {data + i + j * ld, m, n, ld};
  }
  template <class U>
  requires std::is_same_v<U, const T>
  constexpr operator MatrixView<U>() const { return {data, rows, cols, ld}; }
};

}  // namespace lupine
