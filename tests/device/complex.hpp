// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Complex matrices of the device's tests, and their expanded form E(A), a real matrix in which
/// each element z is the block [re z, -im z; im z, re z].
#pragma once

#include <complex>

#include "device/bench.hpp"

namespace speedwell::test {

template <class T>
using Numbers = DeviceMatrix<std::complex<T>>;

template <class T>
Numbers<T> random_numbers(Bench& b, std::int64_t rows, std::int64_t columns, T size = 1) {
  Numbers<T> a(b, rows, columns);
  std::uniform_real_distribution<T> part(-size, size);
  a.set([&](std::int64_t, std::int64_t) {
    const T re = part(b.random);
    return std::complex<T>(re, part(b.random));
  });
  return a;
}

/// E(A) of an A of m x n.
template <class Matrix>
Plain expanded(std::int64_t m, std::int64_t n, Matrix& a) {
  Plain all(2 * m, 2 * n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const std::complex<double> z(a(i, j));
      all(2 * i, 2 * j) = all(2 * i + 1, 2 * j + 1) = z.real();
      all(2 * i + 1, 2 * j) = z.imag();
      all(2 * i, 2 * j + 1) = -z.imag();
    }
  return all;
}
template <class T>
Plain expanded(const Numbers<T>& a) {
  return expanded(a.rows(), a.columns(), a);
}

/// The host's copy of the elements.
template <class T>
class Copy {
 public:
  explicit Copy(const DeviceMatrix<T>& a) : rows_(a.rows()) {
    for (std::int64_t j = 0; j < a.columns(); ++j)
      for (std::int64_t i = 0; i < a.rows(); ++i) values_.push_back(a(i, j));
  }
  T& operator()(std::int64_t i, std::int64_t j) {
    return values_[static_cast<std::size_t>(i + j * rows_)];
  }

 private:
  std::int64_t rows_;
  std::vector<T> values_;
};

/// The columns of pairs of E(A), one for each of A's.
inline Plain first_columns(const Plain& e) {
  Plain pairs(e.rows, e.columns / 2);
  for (std::int64_t j = 0; j < pairs.columns; ++j)
    for (std::int64_t i = 0; i < pairs.rows; ++i) pairs(i, j) = e(i, 2 * j);
  return pairs;
}

}  // namespace speedwell::test
