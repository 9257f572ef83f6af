// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops over FP64 vectors and stored matrices, for one thread. Compiled once for each instruction
/// set, and the same bits from each: what is summed is summed in one order, whatever the part of
/// the matrix that a thread is given.
#pragma once

#include "cpu/loops.hpp"

namespace lupine {

/// Against matrices that store T, in FP64.
template <class T>
struct StoredVectorLoops {
  /// y <- y - A x
  void (*subtract_product)(MatrixView<const T> a, const double* x, double* y);
  /// y <- y - A^T x
  void (*subtract_transposed)(MatrixView<const T> a, const double* x, double* y);
  /// to_ij <- (rows_i from_ij) columns_j, rounded once to T; null: ones.
  void (*scale)(MatrixView<const double> from, const double* rows, const double* columns,
                MatrixView<T> to);
};

struct VectorLoops {
  StoredVectorLoops<float> fp32;
  StoredVectorLoops<double> fp64;
  /// sums += over the columns of A, all in one pass.
  void (*multiply)(MatrixView<const double> a, const double* x, RowSums sums);
  /// most_i <- max_j |a_ij| scale_j, most_j <- max_i scale_i |a_ij|: infinity if there is an Inf or
  /// NaN. scale null: ones.
  void (*largest_of_rows)(MatrixView<const double> a, const double* scale, double* most);
  void (*largest_of_columns)(MatrixView<const double> a, const double* scale, double* most);

  template <class T>
  const StoredVectorLoops<T>& of() const {
    if constexpr (sizeof(T) == sizeof(double))
      return fp64;
    else
      return fp32;
  }
};

/// The copy for the best instruction set of this processor.
inline const VectorLoops& vector_loops() {
  return *loops().vectors;
}

}  // namespace lupine
