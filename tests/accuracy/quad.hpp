// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Errors, solution and inverse of a system A x = b by plain loops in arithmetic of 113 bits. The
/// exponents of its numbers have room for products of the largest and the smallest doubles.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/numbers.hpp"
#include "plain.hpp"
#include "quad_type.hpp"

namespace speedwell::test {

inline std::span<const double> column(const Plain& b, std::int64_t k) {
  return std::span(b.data).subspan(static_cast<std::size_t>(k * b.rows),
                                   static_cast<std::size_t>(b.rows));
}

/// Backward errors of x as a solution of A x = b.
struct BackwardErrors {
  double normwise = 0;       ///< ||r|| / (||A|| ||x|| + ||b||)
  double componentwise = 0;  ///< max_i |r|_i / (|A||x| + |b|)_i, 0/0 being 0
  double hpl = 0;            ///< ||r|| / (eps (||A|| ||x|| + ||b||) n)
};
BackwardErrors backward_errors(const Square& a, std::span<const double> b,
                               std::span<const double> x);

/// ||x - exact|| / ||exact||, infinity norms, 0/0 being 0.
double forward_error(std::span<const double> x, const std::vector<Quad>& exact);

/// A^-1 by Gauss-Jordan elimination with pivoting on scaled rows.
class Inverse {
 public:
  explicit Inverse(const Square& a);

  Quad operator()(std::int64_t i, std::int64_t j) const {
    return data_[static_cast<std::size_t>(i + j * n_)];
  }
  std::vector<Quad> times(std::span<const double> b) const;
  /// || |A^-1| v || for v >= 0.
  Quad bound(const std::vector<Quad>& v) const;

 private:
  std::int64_t n_;
  std::vector<Quad> data_;
};

/// Scales of rows and columns: entry (i, j) is multiplied by 2^row[i] 2^column[j].
struct Scales {
  explicit Scales(std::int64_t n) : row(static_cast<std::size_t>(n), 0), column(row) {}
  std::vector<int> row;
  std::vector<int> column;
};
/// Scales that bring the largest entry of each row, then of each column, into [1/2, 1).
Scales equilibrated(const Square& a);

/// ||R A C|| ||(R A C)^-1||, infinity norms.
double condition(const Square& a, const Inverse& inverse, const Scales& scales);

/// || |A^-1| (|r| + (n+1) eps (|A||x| + |b|)) || / ||x||: what dgerfs estimates.
double forward_bound(const Square& a, const Inverse& inverse, std::span<const double> b,
                     std::span<const double> x);

}  // namespace speedwell::test
