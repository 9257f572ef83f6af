// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops over elements, for one thread. Compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "element/matrix_spec.hpp"

namespace lupine {

/// Sums over a part of a row of A; where a pointer is null, that sum is not wanted.
struct RowSums {
  double* ax = nullptr;        ///< sum_j a_ij x_j
  double* abs_rows = nullptr;  ///< sum_j |a_ij|
  double* abs_ax = nullptr;    ///< sum_j |a_ij| |x_j|
};

/// Where the largest magnitude is: the first of equal ones; -1 and -1 where there is none. Inf and
/// NaN are equal here, and largest.
struct Largest {
  double magnitude = -1;
  std::int64_t row = -1;
};

/// The largest order of a triangle that the loops solve with.
constexpr int triangle_order = 32;

/// Loops over matrices that store T.
template <class T>
struct StorageLoops {
  /// a <- T(regular(i0 + i, j0 + j)): the matrix but for the rules of its diagonal.
  void (*generate)(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0, MatrixView<T> a);
  /// Infinity if there is an Inf or a NaN.
  T (*largest)(const T* from, std::int64_t count);
  Largest (*find_largest)(const T* from, std::int64_t count);
  /// to <- scale * from
  void (*scale)(const T* from, std::int64_t count, T factor, T* to);
  /// l <- rows(:,0) / p(0,0); rows(:,j) <- rows(:,j) - l p(0,j) for j > 0; rows(:,0) <- l. Nothing
  /// for p(0,0) = 0.
  /// @return find_largest of column 1 afterwards, or nothing where there is none
  Largest (*eliminate)(MatrixView<const T> p, MatrixView<T> rows);
  /// B <- L^-1 B, L the unit lower triangle of lu. @pre lu.columns <= triangle_order
  void (*solve_left_lower)(MatrixView<const T> lu, MatrixView<T> b);
  /// B <- B U^-1, U the upper triangle of lu, by the reciprocals of its diagonal.
  /// @pre lu.columns <= triangle_order
  void (*solve_right_upper)(MatrixView<const T> lu, MatrixView<T> b);
};

struct VectorLoops;

/// One instruction set's copy of every loop.
struct Loops {
  const char* name;
  const VectorLoops* vectors;  ///< see vector_loops.hpp

  /// sums += over the columns [j0, j0 + n) of the rows [i0, i0 + m), regular entries in FP64,
  /// each row's terms in ascending order of j.
  void (*multiply)(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
                   std::int64_t n, const double* x, RowSums sums);

  /// to <- round(scale * from), to nearest, ties to even.
  void (*to_half)(const float* from, std::int64_t count, float scale, Half* to);
  void (*to_bfloat16)(const float* from, std::int64_t count, float scale, Bfloat16* to);
  void (*from_half)(const Half* from, std::int64_t count, float* to);
  void (*from_bfloat16)(const Bfloat16* from, std::int64_t count, float* to);

  StorageLoops<float> fp32;
  StorageLoops<double> fp64;

  template <class T>
  const StorageLoops<T>& of() const {
    if constexpr (sizeof(T) == sizeof(double))
      return fp64;
    else
      return fp32;
  }
};

/// The copy for the best instruction set of this processor.
const Loops& loops();

}  // namespace lupine
