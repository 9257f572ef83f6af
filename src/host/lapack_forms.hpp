// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's factorizations of matrices of a form, in FP64, real or complex.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix_view.hpp"

namespace speedwell {

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

/// How A is given.
struct FormOptions {
  MatrixForm form = MatrixForm::general;
  /// Symmetric, hermitian and positive definite: which triangle is read. The other is not.
  bool lower = false;
  std::int64_t below = 0;  ///< banded: diagonals below the main one that are read
  std::int64_t above = 0;  ///< and above
};

/// Factors of A, by getrf, sytrf, hetrf, potrf or gbtrf; a triangle is its own factor. They use the
/// threads of the BLAS, inside of a parallel region of OpenMP one. T is double or
/// std::complex<double>.
template <class T>
class FormFactors {
 public:
  /// @param a has to live as long as this does @pre it is square, with fewer than 2^31 rows; bands
  /// are below n @throws Fault unless has_lapack()
  FormFactors(const FormOptions& options, MatrixView<const T> a);
  /// 0: solve() may be called. i from 1 to n: pivot i is zero, or, of a positive definite form, the
  /// leading minor of order i is not positive.
  int info() const { return info_; }
  /// X <- A^-1 X. @pre info() is 0; X has as many rows as A, and fewer than 2^31 columns
  void solve(MatrixView<T> x) const;

 private:
  void factor();
  void factor_bands();

  FormOptions options_;
  MatrixView<const T> a_;
  std::vector<T> factors_;
  std::vector<int> pivots_;
  int info_ = 0;
};

}  // namespace speedwell
