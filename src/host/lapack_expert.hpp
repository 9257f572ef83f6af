// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's expert drivers (gesvx, sysvx, hesvx, posvx, gbsvx) and its triangular solves, for
/// systems in FP64, real or complex: scaled, refined, with a condition number and bounds of errors.
#pragma once

#include <complex>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/numbers.hpp"

namespace lupine {

/// What is known of A.
enum class MatrixForm {
  general,
  symmetric,          ///< A = A^T
  hermitian,          ///< A = A^H; of a real A, symmetric
  positive_definite,  ///< hermitian, with positive eigenvalues
  banded,
  upper_triangular,
  lower_triangular
};

/// How A is given, and which system is solved.
struct ExpertOptions {
  MatrixForm form = MatrixForm::general;
  /// Symmetric, hermitian and positive definite: which triangle is read. The other is not.
  bool lower = false;
  /// A^T x = b; not for hermitian and positive definite matrices that are complex.
  Transpose transpose = Transpose::no;
  int below = 0;  ///< banded: diagonals below the main one that are read
  int above = 0;  ///< and above
};

/// LAPACK's output arguments.
struct ExpertOutcome {
  /// 0: solved; i from 1 to n: pivot i is exactly zero, or, of a positive definite form, the
  /// leading minor of order i is not positive; n + 1: solved, and rcond is below eps (not of
  /// triangular forms).
  int info = 0;
  double rcond = unknown;  ///< of the scaled matrix, in the 1-norm (transposed: infinity norm)
  std::vector<double> forward{};   ///< of each x, an estimated bound of its relative error (FERR)
  std::vector<double> backward{};  ///< of each x, its componentwise backward error (BERR)
};

/// x <- A^-1 b, or A^-T b, on the threads of the BLAS; on one, inside of a parallel region of
/// OpenMP. A and b are overwritten. T is double or std::complex<double>.
/// @pre A is square, b and x have as many rows; fewer than 2^31 rows and columns; bands below n
/// @throws Fault unless has_lapack()
template <class T>
ExpertOutcome solve_by_expert(const ExpertOptions& options, MatrixView<T> a, MatrixView<T> b,
                              MatrixView<T> x);

}  // namespace lupine
