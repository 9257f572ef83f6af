// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Operations that a GPU runs with kernels of our own. Each function launches its kernels on a
/// stream and returns CUDA's error code. Matrices and vectors are in device memory, matrices are
/// column-major. Indices have 64 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "element/cyclic.hpp"
#include "element/matrix_spec.hpp"

namespace lupine::cuda {

/// The largest order of a matrix that factor_tile takes.
constexpr std::int64_t tile_order = 64;
/// The largest order of a triangle that multiply_triangle takes.
constexpr std::int64_t triangle_order = 256;

// Benchmark matrices --------------------------------------------------------------------------

/// A <- the process's part of the matrix, rounded to A's precision, FP32 or FP64. spec.diagonal
/// points to device memory.
cudaError_t generate(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                     const Cyclic& columns, AnyMatrix a);

/// Where the sums of a pass over A go. abs_rows and abs_ax may be null: that sum is not wanted.
struct PassSums {
  double* ax = nullptr;        ///< A x
  double* abs_rows = nullptr;  ///< sum_j |a_ij|
  double* abs_ax = nullptr;    ///< |A| |x|
};

/// The number of parts into which a pass over rows x columns entries divides the columns, so that
/// all `multiprocessors` have work. Each part needs `rows` doubles of workspace for each sum.
std::int64_t pass_parts(std::int64_t rows, std::int64_t columns, int multiprocessors);

/// One pass over the process's part of A, which is generated again in FP64: computes `sums`. The
/// order of a row's sum depends only on the sizes and on `parts`. `workspace` has parts * row_count
/// doubles for A x, as many behind them for abs_rows, and as many behind these for abs_ax.
cudaError_t multiply_generated(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                               std::int64_t row_count, const Cyclic& columns,
                               std::int64_t column_count, const double* x, const PassSums& sums,
                               std::int64_t parts, double* workspace);

// Panels --------------------------------------------------------------------------------------

/// *bits <- max(*bits, bits of the largest magnitude). Bits of 0x7f800000 or more are an Inf or
/// NaN.
cudaError_t largest_magnitude(cudaStream_t stream, MatrixView<const float> a, std::uint32_t* bits);
/// to <- round(sign * s * from) and *scale <- s, with the s of Device::cast for the largest
/// magnitude that largest_magnitude found; FP16x3 gets both parts. *nonfinite <- 1 if there is an
/// Inf or NaN.
cudaError_t cast(cudaStream_t stream, MatrixView<const float> from, float sign, AnyMatrix to,
                 const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite);
/// to <- sign * from and *scale <- 1, in one pass. *nonfinite <- 1 if there is an Inf or NaN.
cudaError_t copy_signed(cudaStream_t stream, MatrixView<const double> from, double sign,
                        MatrixView<double> to, double* scale, std::int64_t* nonfinite);
/// *alpha <- 1 / (*l_scale * *u_scale), *low_alpha <- 2^-11 *alpha
cudaError_t inverse_scale(cudaStream_t stream, const double* l_scale, const double* u_scale,
                          float* alpha, float* low_alpha);

/// high <- round(a), low <- round(a - high), both in BF16. Their sum differs from a by at most a
/// relative 2^-16.
cudaError_t split(cudaStream_t stream, MatrixView<const float> a, MatrixView<Bfloat16> high,
                  MatrixView<Bfloat16> low);
enum class Triangle { unit_lower, upper };
/// Splits one triangle of `a` as split() does. The other triangle becomes zeros, and a unit
/// diagonal becomes ones. The high part is written to two places.
cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> a, Triangle triangle,
                           MatrixView<Bfloat16> high, MatrixView<Bfloat16> high_again,
                           MatrixView<Bfloat16> low);

/// A <- L^-1\U^-1 of A = L U, without pivoting, L unit lower. If pivot i is the first that is zero
/// or not finite, *bad_pivot <- begin + i, unless *bad_pivot >= 0 already.
/// @return cudaErrorInvalidValue if A is not square, or larger than tile_order
cudaError_t factor_tile(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                        std::int64_t* bad_pivot);

/// Replaces L\U by L^-1\U^-1 in all tiles of tile_order on the diagonal of `a`; the last tile may
/// be smaller. @return cudaErrorInvalidValue if `a` is not square
cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a);

// Panels with pivoting, FP32 or FP64: as in Device ----------------------------------------------

/// The blocks' candidates in a search for a pivot, which the last block compares. Must be zero
/// before the first search. Searches that use the same one must run one after the other.
struct SearchSpace {
  static constexpr unsigned most_blocks = 1024;
  unsigned arrived;
  double magnitudes[most_blocks];
  std::int64_t rows[most_blocks];
};
/// Where a search writes the pivot, in device memory: its magnitude, infinity for an Inf or NaN,
/// and the first row with that magnitude. Both are -1 if there are no rows.
struct Found {
  double* magnitude = nullptr;
  std::int64_t* row = nullptr;
};

/// Device::find_pivot.
cudaError_t find_pivot(cudaStream_t stream, ConstAnyMatrix column, SearchSpace* space, Found found);
/// What a search has found, in device memory.
struct FoundPivot {
  const double* magnitude = nullptr;
  const std::int64_t* row = nullptr;
};
/// PanelRows.
struct OfferedRows {
  std::int64_t begin = 0;
  std::int64_t shared = 0;
  std::int64_t below = 0;
  Cyclic rows;
};
/// PivotOffers, with the bytes of one offer: a magnitude (double), a row (std::int64_t), values.
struct Offers {
  const std::byte* data = nullptr;
  std::int64_t bytes = 0;
  int count = 0;
  int mine = 0;
  std::int64_t shared = 0;
};
/// Device::offer_pivot.
cudaError_t offer_pivot(cudaStream_t stream, ConstAnyMatrix rows, const OfferedRows& of,
                        FoundPivot found, std::byte* offer);
/// Device::take_pivot, for a pivot that find_pivot or eliminate found.
cudaError_t take_pivot(cudaStream_t stream, AnyMatrix rows, std::int64_t first, FoundPivot found,
                       const Offers& offers, std::int64_t* pivot, std::int64_t* bad_pivot);
/// Device::eliminate. @param next is not used if `rows` has one column
cudaError_t eliminate(cudaStream_t stream, ConstAnyMatrix pivot_row, AnyMatrix rows,
                      SearchSpace* space, Found next);
/// The most bytes of a column that permute_rows can move.
constexpr std::int64_t permuted_bytes = 32 << 10;
/// Device::permute_rows.
/// @return cudaErrorInvalidValue if `count` elements of one column exceed permuted_bytes
cudaError_t permute_rows(cudaStream_t stream, const std::int64_t* from, const std::int64_t* to,
                         std::int64_t count, AnyMatrix a);
/// Device::gather_rows.
cudaError_t gather_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                        AnyMatrix to);
/// Device::scatter_rows.
cudaError_t scatter_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                         AnyMatrix to);

// Refinement ----------------------------------------------------------------------------------

/// y <- y - A x or y <- y - A^T x in FP64. A is FP32 or FP64.
cudaError_t subtract_product(cudaStream_t stream, Transpose transpose, ConstAnyMatrix a,
                             const double* x, double* y);
/// x <- T x or x <- T^T x in FP64, T a triangle of `a`.
/// @return cudaErrorInvalidValue if `a` is not square, or larger than triangle_order
cudaError_t multiply_triangle(cudaStream_t stream, Transpose transpose, MatrixView<const float> a,
                              Triangle triangle, double* x);
/// Y <- Y + X, of one shape and precision, FP32 or FP64.
cudaError_t add(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y);

// A user's matrix: as in Device ----------------------------------------------------------------

/// Adds entries to elements of A, in their order. Entries for the same element must be next to each
/// other.
cudaError_t add_entries(cudaStream_t stream, const MatrixEntry* entries, std::int64_t count,
                        MatrixView<double> a);
/// One pass over A: computes `sums`. The order of a row's sum depends only on the sizes.
cudaError_t multiply(cudaStream_t stream, MatrixView<const double> a, const double* x,
                     const PassSums& sums);
/// Device::largest_of_rows.
cudaError_t largest_of_rows(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                            double* most);
/// Device::largest_of_columns.
cudaError_t largest_of_columns(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                               double* most);
/// Device::scale.
cudaError_t scale(cudaStream_t stream, MatrixView<const double> from, const double* row_scale,
                  const double* column_scale, AnyMatrix to);
/// Device::take_magnitudes.
cudaError_t take_magnitudes(cudaStream_t stream, AnyMatrix a);

}  // namespace lupine::cuda
