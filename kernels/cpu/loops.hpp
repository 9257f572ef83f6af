// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops over elements, each for one thread. They are compiled once for each instruction set.
#pragma once

#include <cstdint>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "element/checksum.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell {

/// Where the sums over rows of A go. abs_rows, abs_ax and checksum may be null: not wanted.
struct RowSums {
  double* ax = nullptr;                ///< sum_j a_ij x_j
  double* abs_rows = nullptr;          ///< sum_j |a_ij|
  double* abs_ax = nullptr;            ///< sum_j |a_ij| |x_j|
  MatrixChecksum* checksum = nullptr;  ///< of all a_ij
  double* ax_low =
      nullptr;  ///< of extended loops: ax + ax_low is the sum in twice FP64's precision
  double* a_x_low = nullptr;  ///< of extended loops: sum_j a_ij x_low_j, in FP64
  PlaceKeys keys{};           ///< of the matrix's first row and column, where checksum is not null
};

/// Where the checksums of a matrix's columns go. Other threads may add to them meanwhile.
struct ColumnChecksums {
  const std::uint64_t* row_keys = nullptr;  ///< null: none are wanted
  std::uint64_t* bits = nullptr;            ///< one number: of all columns
  std::uint64_t* places = nullptr;          ///< one for each column

  /// Those of the matrix that begins in this row and column.
  ColumnChecksums from(std::int64_t row, std::int64_t column) const {
    return row_keys ? ColumnChecksums{row_keys + row, bits, places + column} : *this;
  }
};

/// The largest order of a triangle that solve_left_lower and solve_right_upper take.
constexpr int triangle_order = 32;

/// Loops over matrices with elements of type T, float or double.
template <class T>
struct StorageLoops {
  /// a_ij <- regular(i0 + i, j0 + j), rounded to T: the matrix, except for its diagonal.
  void (*generate)(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0, MatrixView<T> a);
  /// The largest magnitude: infinity if there is an Inf or a NaN, 0 for count = 0.
  T (*largest)(const T* from, std::int64_t count);
  /// to <- factor * from
  void (*scale)(const T* from, std::int64_t count, T factor, T* to);
  /// to <- to + from
  void (*add)(const T* from, std::int64_t count, T* to);
  /// B <- L^-1 B, L the unit lower triangle of lu. @pre lu.columns <= triangle_order
  void (*solve_left_lower)(MatrixView<const T> lu, MatrixView<T> b);
  /// B <- B U^-1, U the upper triangle of lu; multiplies by the reciprocals of U's diagonal.
  /// @pre lu.columns <= triangle_order
  void (*solve_right_upper)(MatrixView<const T> lu, MatrixView<T> b);
};

struct VectorLoops;
struct AllPanelLoops;

/// All loops, as compiled for one instruction set.
struct Loops {
  const char* name;             ///< of the instruction set
  const VectorLoops* vectors;   ///< see vector_loops.hpp
  const AllPanelLoops* panels;  ///< see panel_loops.hpp

  /// Adds to `sums`, for each of the rows [i0, i0 + m), the sums over the columns [j0, j0 + n) of A
  /// in ascending order of j. Entries are regular values, generated in FP64.
  void (*multiply)(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
                   std::int64_t n, const double* x, RowSums sums);

  /// to <- round(scale * from): to nearest, ties to even, as in element/rounding.hpp.
  void (*to_half)(const float* from, std::int64_t count, float scale, Half* to);
  void (*to_bfloat16)(const float* from, std::int64_t count, float scale, Bfloat16* to);
  /// high + 2^-11 low <- scale * from, as to_half_pair of element/rounding.hpp.
  void (*to_half_pair)(const float* from, std::int64_t count, float scale, Half* high, Half* low);
  /// to <- from, exactly.
  void (*from_half)(const Half* from, std::int64_t count, float* to);
  void (*from_bfloat16)(const Bfloat16* from, std::int64_t count, float* to);

  /// to <- even[0], odd[0], even[1], odd[1], ...: 2 count numbers
  void (*interleave)(const Bfloat16* even, const Bfloat16* odd, std::int64_t count, Bfloat16* to);

  /// The sum of `count` words.
  std::uint64_t (*sum_of_words)(const std::uint64_t* from, std::int64_t count);
  /// a <- b + s c, STREAM's triad.
  void (*triad)(const double* b, const double* c, double s, double* a, std::int64_t count);

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

/// The loops for cpu_isa().
const Loops& loops();

}  // namespace speedwell
