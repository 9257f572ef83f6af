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

/// One instruction set's copy of every loop.
struct Loops {
  const char* name;

  /// a <- FP32(regular(i0 + i, j0 + j)): the matrix but for the rules of its diagonal.
  void (*generate)(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0, MatrixView<float> a);
  /// sums += over the columns [j0, j0 + n) of the rows [i0, i0 + m), regular entries in FP64,
  /// each row's terms in ascending order of j.
  void (*multiply)(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
                   std::int64_t n, const double* x, RowSums sums);

  /// The largest magnitude; infinity if there is an Inf or a NaN.
  float (*largest)(const float* from, std::int64_t count);
  /// to <- round(scale * from), to nearest, ties to even.
  void (*to_half)(const float* from, std::int64_t count, float scale, Half* to);
  void (*to_bfloat16)(const float* from, std::int64_t count, float scale, Bfloat16* to);
  void (*to_float)(const float* from, std::int64_t count, float scale, float* to);
  void (*from_half)(const Half* from, std::int64_t count, float* to);
  void (*from_bfloat16)(const Bfloat16* from, std::int64_t count, float* to);

  /// y <- y - A x, in FP64.
  void (*subtract_product)(MatrixView<const float> a, const double* x, double* y);
};

/// The copy for the best instruction set of this processor.
const Loops& loops();

}  // namespace lupine
