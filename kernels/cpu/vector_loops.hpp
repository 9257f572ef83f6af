// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops over FP64 vectors and stored matrices, each for one thread. They are compiled once for
/// each instruction set, and all copies give the same bits. The order of a sum does not depend on
/// the part of the matrix that a thread is given.
#pragma once

#include "cpu/loops.hpp"

namespace speedwell {

/// Loops over matrices with elements of type T, float or double. Arithmetic is FP64.
template <class T>
struct StoredVectorLoops {
  /// y <- y - A x
  void (*subtract_product)(MatrixView<const T> a, const double* x, double* y);
  /// y <- y - A^T x
  void (*subtract_transposed)(MatrixView<const T> a, const double* x, double* y);
  /// to_ij <- (rows_i from_ij) columns_j, rounded once to T. Null stands for ones.
  void (*scale)(MatrixView<const double> from, const double* rows, const double* columns,
                MatrixView<T> to);
  /// most_j <- max_i scale_i |a_ij|: infinity if one of these is Inf or NaN. Null stands for ones.
  /// Adds the checksums of the columns to these, where they are wanted: of FP64 alone.
  void (*largest_of_columns)(MatrixView<const T> a, const double* scale, double* most,
                             ColumnChecksums checksums);
};

struct VectorLoops {
  StoredVectorLoops<float> fp32;
  StoredVectorLoops<double> fp64;
  /// Adds to `sums` the sums over the columns of A, in one pass.
  void (*multiply)(MatrixView<const double> a, const double* x, RowSums sums);
  /// Adds to `sums` the sums over the columns of A^T, in one pass.
  void (*multiply_transposed)(MatrixView<const double> a, const double* x, RowSums sums);
  /// The same, with A x and A^T x in twice FP64's precision, and the product with the vector x_low
  /// in FP64: all pointers but abs_rows, abs_ax and checksum are wanted. The error of (ax, ax_low)
  /// is at most 8 n 2^-106 times the sum of n magnitudes, but for underflow.
  void (*multiply_extended)(MatrixView<const double> a, const double* x, const double* x_low,
                            RowSums sums);
  void (*multiply_transposed_extended)(MatrixView<const double> a, const double* x,
                                       const double* x_low, RowSums sums);
  /// most_i <- max_j |a_ij| scale_j: infinity if one of these is Inf or NaN. Null stands for ones.
  /// Adds the checksums of the columns to these, where they are wanted.
  void (*largest_of_rows)(MatrixView<const double> a, const double* scale, double* most,
                          ColumnChecksums checksums);
  /// Adds the checksums of the columns to these.
  void (*checksums_of_columns)(MatrixView<const double> a, ColumnChecksums checksums);

  template <class T>
  const StoredVectorLoops<T>& of() const {
    if constexpr (sizeof(T) == sizeof(double))
      return fp64;
    else
      return fp32;
  }
};

/// The loops for cpu_isa().
inline const VectorLoops& vector_loops() {
  return *loops().vectors;
}

}  // namespace speedwell
