// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Complex matrices as real ones (docs/numerics.md, 5.8): as they lie in memory, with a row of real
/// parts and one of imaginary parts for each row; and expanded to E, with a 2 x 2 block
/// [re, -im; im, re] for each element. E(A) times the rows of B is that of the complex product A B.
#pragma once

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

#include "core/matrix_view.hpp"
#include "device/cpu/parts.hpp"

namespace speedwell {

/// M as it lies in memory: 2 m x n.
template <class T>
MatrixView<T> pairs_of(MatrixView<std::complex<T>> m) {
  return {reinterpret_cast<T*>(m.data), 2 * m.rows, m.columns, 2 * m.ld};
}
template <class T>
MatrixView<const T> pairs_of(MatrixView<const std::complex<T>> m) {
  return {reinterpret_cast<const T*>(m.data), 2 * m.rows, m.columns, 2 * m.ld};
}

/// to <- i z, for `count` numbers of pairs.
template <class T>
void times_i(const T* z, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; i += 2) {
    to[i] = -z[i + 1];
    to[i + 1] = z[i];
  }
}

/// E(A), 2 m x 2 n: two columns, z and i z, for each column z of A.
/// @param memory in which E(A) is put; it grows where it is too small
template <class T>
MatrixView<T> expanded(MatrixView<const std::complex<T>> a, std::vector<T>& memory) {
  const MatrixView<const T> pairs = pairs_of(a);
  const auto numbers = static_cast<std::size_t>(2 * pairs.rows * pairs.columns);
  if (memory.size() < numbers) memory.resize(numbers);
  const MatrixView<T> to{memory.data(), pairs.rows, 2 * pairs.columns, pairs.rows};
#pragma omp parallel for if (worth_threads(2 * pairs.rows * pairs.columns))
  for (std::int64_t j = 0; j < pairs.columns; ++j) {
    std::copy_n(pairs.column(j), pairs.rows, to.column(2 * j));
    times_i(pairs.column(j), pairs.rows, to.column(2 * j + 1));
  }
  return to;
}

}  // namespace speedwell
