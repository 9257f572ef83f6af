// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A dense matrix in host memory as quick_solve() multiplies it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "cpu/loops.hpp"
#include "cpu/vector_loops.hpp"
#include "solve/quick_solve.hpp"

namespace speedwell {

// Vectors and matrices of numbers: a complex entry is two, its real and its imaginary part. Norms
// are those of the real system of the numbers, of order N = n or 2 n (refine/pairs.hpp).
template <class T>
auto* numbers_of(T* v) {
  using Number = decltype(std::abs(*v));
  return reinterpret_cast<std::conditional_t<std::is_const_v<T>, const Number, Number>*>(v);
}

constexpr std::size_t entries(std::int64_t count) {
  return static_cast<std::size_t>(count);
}

// Columns that several loops read in turn: they stay in the second-level cache.
inline constexpr std::int64_t in_cache = 16;

inline double largest_number(const double* v, std::int64_t count) {
  return loops().fp64.largest(v, count);
}

// A as it lies in memory: by columns, or by rows, where that is A^T by columns.
template <class T>
class PlainMatrix {
 public:
  static constexpr std::int64_t parts = parts_of(field_of<T>);

  explicit PlainMatrix(const PlainSystem<T>& system)
      : memory_{numbers_of(system.a), parts * system.n, system.n, parts * system.lda},
        is_transposed_(system.order == StorageOrder::row_major) {}

  std::int64_t n() const { return memory_.columns; }
  std::int64_t numbers() const { return parts * n(); }
  Transpose transpose() const { return is_transposed_ ? Transpose::yes : Transpose::no; }
  MatrixView<const double> memory() const { return memory_; }
  /// The largest sum of magnitudes of a row, after multiply().
  double norm() const { return norm_; }

  /// A X, and |A| |X| of the first columns, each of `numbers` per column.
  struct Products {
    std::vector<double> ax;
    std::vector<double> abs_ax;
  };
  /// With H, the numbers in memory as a matrix of N rows and n columns: A x = H re x + i H im x,
  /// or, of an A by rows, the real and the imaginary part of A x are H^T (re x, -im x) and H^T (im
  /// x, re x). So there is a real factor of H for each part of a number.
  /// @param with_magnitudes columns of which |A| |X| is wanted too: it costs as much again
  Products multiply(const std::vector<T>& x, std::int64_t with_magnitudes) {
    const std::int64_t count = parts * std::ssize(x) / n();
    const std::int64_t in = is_transposed_ ? numbers() : n();
    const std::int64_t out = is_transposed_ ? n() : numbers();
    const std::vector<double> factors = factors_of(numbers_of(x.data()), count);
    std::vector<double> sums(entries(out * count), 0.0);
    std::vector<double> magnitudes(entries(out * parts * with_magnitudes), 0.0);
    std::vector<double> rows(norm_ == 0 ? entries(out) : 0, 0.0);
    const auto loop = is_transposed_ ? vector_loops().multiply_transposed : vector_loops().multiply;
    for (std::int64_t j = 0; j < n(); j += in_cache) {
      const auto block = memory_.block(0, j, memory_.rows, std::min(in_cache, n() - j));
      const std::int64_t from = is_transposed_ ? 0 : j;
      const std::int64_t to = is_transposed_ ? j : 0;
      for (std::int64_t k = 0; k < count; ++k)
        loop(block, factors.data() + k * in + from,
             {sums.data() + k * out + to, k == 0 && !rows.empty() ? rows.data() + to : nullptr,
              k < parts * with_magnitudes ? magnitudes.data() + k * out + to : nullptr});
    }
    for (std::size_t i = 0; i < rows.size(); ++i)
      norm_ = std::max(norm_, out == n() || parts == 1 ? rows[i] : rows[i] + rows[i ^ 1]);
    return {combined(std::move(sums), count, -1),
            combined(std::move(magnitudes), parts * with_magnitudes, 1)};
  }

 private:
  std::vector<double> factors_of(const double* x, std::int64_t count) const {
    if constexpr (parts == 1) return {x, x + n() * count};
    const std::int64_t in = is_transposed_ ? numbers() : n();
    std::vector<double> factors(entries(in * count));
    for (std::int64_t k = 0; k < count; k += 2) {
      double* const first = factors.data() + k * in;
      double* const second = first + in;
      for (std::int64_t i = 0; i < n(); ++i, x += 2)
        if (is_transposed_) {
          first[2 * i] = second[2 * i + 1] = x[0];
          first[2 * i + 1] = -x[1];
          second[2 * i] = x[1];
        } else {
          first[i] = x[0];
          second[i] = x[1];
        }
    }
    return factors;
  }

  // The products of each two factors as numbers. Of p + i q, of which `sign` is that of i^2: 1 for
  // magnitudes.
  std::vector<double> combined(std::vector<double> products, std::int64_t count,
                               double sign) const {
    if constexpr (parts == 1) return products;
    std::vector<double> numbers(entries(n() * count));
    const double* p = products.data();
    double* to = numbers.data();
    const std::int64_t out = is_transposed_ ? n() : 2 * n();
    for (std::int64_t k = 0; k < count; k += 2, p += 2 * out)
      for (std::int64_t i = 0; i < n(); ++i, to += 2) {
        to[0] = is_transposed_ ? p[i] : p[2 * i] + sign * p[out + 2 * i + 1];
        to[1] = is_transposed_ ? p[out + i] : p[2 * i + 1] + p[out + 2 * i];
      }
    return numbers;
  }

  MatrixView<const double> memory_;
  bool is_transposed_;
  double norm_ = 0;
};

}  // namespace speedwell
