// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Plain FP64 computations whose results tests compare Speedwell's with.
#pragma once

#include <speedwell/options.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/numbers.hpp"

namespace speedwell::test {

/// A matrix in plain memory, column-major.
struct Plain {
  Plain(std::int64_t m, std::int64_t n)
      : rows(m), columns(n), data(static_cast<std::size_t>(m * n), 0.0) {}
  double& operator()(std::int64_t i, std::int64_t j) {
    return data[static_cast<std::size_t>(i + j * rows)];
  }
  double operator()(std::int64_t i, std::int64_t j) const {
    return data[static_cast<std::size_t>(i + j * rows)];
  }
  std::int64_t rows;
  std::int64_t columns;
  std::vector<double> data;
};

/// A square matrix in plain memory.
struct Square : Plain {
  explicit Square(std::int64_t order) : Plain(order, order), n(order) {}
  std::int64_t n;
};

/// A B, by the definition.
Plain product(const Plain& a, const Plain& b);

inline Plain magnitudes(const Plain& a) {
  Plain result(a.rows, a.columns);
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

/// L^-1\U^-1 of L\U, or L\U of L^-1\U^-1.
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
  for (std::int64_t j = 0; j < p.columns; ++j) {
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

/// Turns the diagonal block [begin, end), as a device with inverted_order() = m stores it, back
/// into L\U. Returns the condition number of these triangles T, the largest sum of a row or column
/// of |T| |T^-1| or |T^-1| |T|; 1 where m is 0.
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

/// P A = L U with partial pivoting, plain and in FP64. Row i was exchanged with row pivots[i].
struct PivotedLu {
  Square lu;
  std::vector<std::int64_t> pivots;
  std::int64_t zero_pivot = -1;  ///< index of the first pivot that is zero, or -1
};

inline PivotedLu plain_pivoted_lu(Square a) {
  PivotedLu result{std::move(a), {}, -1};
  Square& lu = result.lu;
  for (std::int64_t k = 0; k < lu.n; ++k) {
    std::int64_t p = k;
    for (std::int64_t i = k + 1; i < lu.n; ++i)
      if (std::fabs(lu(i, k)) > std::fabs(lu(p, k))) p = i;
    result.pivots.push_back(p);
    for (std::int64_t j = 0; j < lu.n; ++j) std::swap(lu(k, j), lu(p, j));
    if (lu(k, k) == 0) {
      if (result.zero_pivot < 0) result.zero_pivot = k;
      continue;
    }
    for (std::int64_t i = k + 1; i < lu.n; ++i) lu(i, k) /= lu(k, k);
    for (std::int64_t j = k + 1; j < lu.n; ++j)
      for (std::int64_t i = k + 1; i < lu.n; ++i) lu(i, j) -= lu(i, k) * lu(k, j);
  }
  return result;
}

/// P A: A with its rows in the order after pivoting.
inline Square permuted(Square a, std::span<const std::int64_t> pivots) {
  for (std::int64_t k = 0; k < a.n; ++k)
    for (std::int64_t j = 0; j < a.n; ++j)
      std::swap(a(k, j), a(pivots[static_cast<std::size_t>(k)], j));
  return a;
}

/// Turns factors without row exchanges in the finished columns of L (Speedwell's) into those that
/// LAPACK returns, which have them. step_end[j] is the end of the step that column j belongs to.
inline Square lapack_order(Square lu, std::span<const std::int64_t> pivots,
                           const std::vector<std::int64_t>& step_end) {
  for (std::int64_t j = 0; j < lu.n; ++j)
    for (std::int64_t k = step_end[static_cast<std::size_t>(j)]; k < lu.n; ++k)
      std::swap(lu(k, j), lu(pivots[static_cast<std::size_t>(k)], j));
  return lu;
}

/// max |A - L U| / (|L| |U|).
inline double factor_error(const Square& lu, const Square& a) {
  double worst = 0;
  for (std::int64_t j = 0; j < lu.n; ++j)
    for (std::int64_t i = 0; i < lu.n; ++i) {
      double sum = i <= j ? lu(i, j) : 0;
      double scale = std::fabs(sum);
      for (std::int64_t k = 0; k < std::min(i, j + 1); ++k) {
        sum += lu(i, k) * lu(k, j);
        scale += std::fabs(lu(i, k) * lu(k, j));
      }
      const double error = std::fabs(sum - a(i, j));
      if (error > 0) worst = std::max(worst, scale > 0 ? error / scale : HUGE_VAL);
      if (std::isnan(error)) return HUGE_VAL;
    }
  return worst;
}

/// The largest |lu - plain| as a share of its bound: twice the largest change of the factors that
/// an error E of A with |E| <= unit |L| |U| can cause. A + E = (L + dL) (U + dU) has, to first
/// order, dL = L low(L^-1 E U^-1) and dU = up(L^-1 E U^-1) U.
inline double share_of_perturbation(const Square& lu, const Square& plain, double unit) {
  const Plain l = magnitudes(lower_of(plain));
  const Plain u = magnitudes(upper_of(plain));
  const Square inverse = inverse_triangles(plain);
  const Plain e =
      product(product(magnitudes(lower_of(inverse)), product(l, u)), magnitudes(upper_of(inverse)));
  Plain low(lu.n, lu.n);
  Plain up(lu.n, lu.n);
  for (std::int64_t j = 0; j < lu.n; ++j)
    for (std::int64_t i = 0; i < lu.n; ++i) (i > j ? low : up)(i, j) = e(i, j);
  const Plain in_l = product(l, low);
  const Plain in_u = product(up, u);
  double worst = 0;
  for (std::int64_t j = 0; j < lu.n; ++j)
    for (std::int64_t i = 0; i < lu.n; ++i) {
      const double difference = std::fabs(lu(i, j) - plain(i, j));
      const double bound = 2 * unit * (i > j ? in_l : in_u)(i, j);
      if (difference > 0) worst = std::max(worst, bound > 0 ? difference / bound : HUGE_VAL);
      if (std::isnan(difference)) return HUGE_VAL;
    }
  return worst;
}

/// The largest magnitude.
inline double largest(const std::vector<double>& v) {
  double most = 0;
  for (const double value : v) most = std::max(most, std::fabs(value));
  return most;
}

inline double infinity_norm(const Square& a) {
  std::vector<double> sums(static_cast<std::size_t>(a.n), 0.0);
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < a.n; ++i) sums[static_cast<std::size_t>(i)] += std::fabs(a(i, j));
  return largest(sums);
}

/// ||b - A x|| / (||A|| ||x|| + ||b||), infinity norms.
inline double backward_error(const Square& a, const std::vector<double>& b,
                             const std::vector<double>& x) {
  std::vector<double> r = b;
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < a.n; ++i)
      r[static_cast<std::size_t>(i)] -= a(i, j) * x[static_cast<std::size_t>(j)];
  return largest(r) / (infinity_norm(a) * largest(x) + largest(b));
}

}  // namespace speedwell::test
