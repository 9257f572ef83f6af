// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's solutions of A x = b with one or several columns of b, and other results of LAPACK.
#pragma once

#include <cstdint>
#include <vector>

#include "plain.hpp"

namespace speedwell::test {

inline Plain one_column(const std::vector<double>& b) {
  Plain column(static_cast<std::int64_t>(b.size()), 1);
  column.data = b;
  return column;
}

/// The results of dgesv.
struct Lapack {
  Square lu;
  std::vector<std::int64_t> pivots;  ///< from 0
  Plain x;
  std::int64_t info = 0;
};
Lapack dgesv(const Square& a, const Plain& b);

/// The results of dgesvx with equilibration.
struct LapackExpert {
  Plain x;
  double rcond = 0;          ///< of the equilibrated matrix, in the 1-norm
  double pivot_growth = 0;   ///< reciprocal growth: the least max |A| / max |U| of any column
  std::vector<double> ferr;  ///< bounds of the forward errors
  std::vector<double> berr;  ///< componentwise backward errors
  std::int64_t info = 0;     ///< n + 1: singular to working precision; other results are valid
};
LapackExpert dgesvx(const Square& a, const Plain& b);

/// A^-1 by dgetri, from the factors of dgesv.
Square dgetri(const Lapack& factors);

/// Q of the QR factorization of a, by dgeqrf and dorgqr.
Square orthogonal_factor(Square a);

/// The singular values of a in descending order, by dgesvd.
std::vector<double> singular_values(Square a);

}  // namespace speedwell::test
