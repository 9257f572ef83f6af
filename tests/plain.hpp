/// @file
/// Plain FP64 computations that tests compare with.
#pragma once

#include <lupine/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

namespace lupine::test {

/// A matrix in plain memory, column-major.
struct Plain {
  Plain(std::int64_t m, std::int64_t n)
      : rows(m), cols(n), data(static_cast<std::size_t>(m * n), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i + j * rows)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i + j * rows)];
  }
  std::int64_t rows;
  std::int64_t cols;
  std::vector<double> data;
};

/// A square one.
struct Square : Plain {
  explicit Square(std::int64_t order) : Plain(order, order), n(order) {}
  std::int64_t n;
};

inline Plain product(const Plain& a, const Plain& b) {
  Plain c(a.rows, b.cols);
  for (std::int64_t j = 0; j < b.cols; ++j)
    for (std::int64_t k = 0; k < a.cols; ++k)
      if (const double factor = b(k, j); factor != 0)
        for (std::int64_t i = 0; i < a.rows; ++i) c(i, j) += a(i, k) * factor;
  return c;
}

inline Plain magnitudes(const Plain& a) {
  Plain result(a.rows, a.cols);
  for (std::size_t i = 0; i < a.data.size(); ++i) result.data[i] = std::fabs(a.data[i]);
  return result;
}

/// The unit lower triangle of L\U with its diagonal, or the upper triangle.
inline Square lower_of(const Square& lu) {
  Square l(lu.n);
  for (std::int64_t j = 0; j < lu.n; ++j) {
    l(j, j) = 1;
    for (std::int64_t i = j + 1; i < lu.n; ++i) l(i, j) = lu(i, j);
  }
  return l;
}
inline Square upper_of(const Square& lu) {
  Square u(lu.n);
  for (std::int64_t j = 0; j < lu.n; ++j)
    for (std::int64_t i = 0; i <= j; ++i) u(i, j) = lu(i, j);
  return u;
}

/// L^-1\U^-1 of L\U, or the other way round.
inline Square inverse_triangles(const Square& lu) {
  const std::int64_t n = lu.n;
  Square inverse(n);
  for (std::int64_t j = 0; j < n; ++j) {
    for (std::int64_t i = j + 1; i < n; ++i) {
      double sum = lu(i, j);
      for (std::int64_t k = j + 1; k < i; ++k) sum += lu(i, k) * inverse(k, j);
      inverse(i, j) = -sum;
    }
    inverse(j, j) = 1 / lu(j, j);
    for (std::int64_t i = j - 1; i >= 0; --i) {
      double sum = 0;
      for (std::int64_t k = i + 1; k <= j; ++k) sum += lu(i, k) * inverse(k, j);
      inverse(i, j) = -sum / lu(i, i);
    }
  }
  return inverse;
}

/// The largest sum of a row or column of |A| |B|.
inline double largest_sum(const Plain& a, const Plain& b) {
  const Plain p = product(magnitudes(a), magnitudes(b));
  double most = 0;
  std::vector<double> rows(static_cast<std::size_t>(p.rows), 0.0);
  for (std::int64_t j = 0; j < p.cols; ++j) {
    double column = 0;
    for (std::int64_t i = 0; i < p.rows; ++i) {
      column += p(i, j);
      most = std::max(most, rows[static_cast<std::size_t>(i)] += p(i, j));
    }
    most = std::max(most, column);
  }
  return most;
}

/// Rows and columns [begin, begin + order).
inline Square diagonal_block(const Square& a, std::int64_t begin, std::int64_t order) {
  Square block(order);
  for (std::int64_t j = 0; j < order; ++j)
    for (std::int64_t i = 0; i < order; ++i) block(i, j) = a(begin + i, begin + j);
  return block;
}

/// What a device with inverted_order() = m left in the block [begin, end) of the diagonal, turned
/// back into L\U. Returns the condition of these triangles, the largest sum of a row or column of
/// |T| |T^-1| or |T^-1| |T|; 1 where m is 0.
inline double undo_inverses(Square& a, std::int64_t begin, std::int64_t end, std::int64_t m) {
  double condition = 1;
  for (std::int64_t b = begin; m > 0 && b < end; b += m) {
    const Square stored = diagonal_block(a, b, std::min(m, end - b));
    const Square lu = inverse_triangles(stored);
    for (std::int64_t j = 0; j < lu.n; ++j)
      for (std::int64_t i = 0; i < lu.n; ++i) a(b + i, b + j) = lu(i, j);
    for (const auto& [t, inverse] :
         {std::pair{lower_of(lu), lower_of(stored)}, std::pair{upper_of(lu), upper_of(stored)}})
      condition = std::max({condition, largest_sum(t, inverse), largest_sum(inverse, t)});
  }
  return condition;
}

inline double unit_roundoff(Precision precision) {
  return precision == Precision::fp16 ? 0x1p-11 : precision == Precision::bf16 ? 0x1p-8 : 0x1p-24;
}

}  // namespace lupine::test
