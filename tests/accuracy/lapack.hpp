// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's answers to A x = b, one or several columns of it.
#pragma once

#include <cstdint>
#include <vector>

#include "plain.hpp"

namespace lupine::test {

inline Plain one_column(const std::vector<double>& b) {
  Plain column(static_cast<std::int64_t>(b.size()), 1);
  column.data = b;
  return column;
}

/// dgesv.
struct Lapack {
  Square lu;
  std::vector<std::int64_t> pivots;  ///< from 0
  Plain x;
  std::int64_t info = 0;
};
Lapack dgesv(const Square& a, const Plain& b);

/// dgesvx, which equilibrates.
struct LapackExpert {
  Plain x;
  double rcond = 0;          ///< of the equilibrated matrix, in the 1-norm
  double pivot_growth = 0;   ///< reciprocal: max |A| / max |U|, the least of the columns
  std::vector<double> ferr;  ///< bounds of the forward errors
  std::vector<double> berr;  ///< componentwise backward errors
  std::int64_t info = 0;     ///< n + 1: singular to working precision, all else is given
};
LapackExpert dgesvx(const Square& a, const Plain& b);

/// A^-1 from dgesv's factors, by dgetri.
Square dgetri(const Lapack& factors);

/// Q of a QR factorization, by dgeqrf and dorgqr.
Square orthogonal_factor(Square a);

/// In falling order, by dgesvd.
std::vector<double> singular_values(Square a);

}  // namespace lupine::test
