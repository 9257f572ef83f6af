// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a GPU computes with kernels of our own. Each function gives its launches to a stream and
/// returns; matrices and vectors lie in device memory, column-major. Indices are 64 bits.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "element/cyclic.hpp"
#include "element/matrix_spec.hpp"

namespace lupine::cuda {

/// Order of the largest matrix that factor_tile takes.
constexpr std::int64_t tile_order = 64;
/// Order of the largest triangle that solve_triangle takes.
constexpr std::int64_t triangle_order = 256;

// Benchmark matrices --------------------------------------------------------------------------

/// A <- the process's part of the matrix, rounded to what A stores: FP32 or FP64. spec.diagonal:
/// device memory.
cudaError_t generate(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                     const Cyclic& columns, AnyMatrix a);

/// Where the sums of a pass over A go; null where they are not wanted.
struct PassSums {
  double* ax = nullptr;        ///< A x
  double* abs_rows = nullptr;  ///< sum_j |a_ij|
  double* abs_ax = nullptr;    ///< |A| |x|
};

/// Column parts that a pass over rows x columns entries is cut into, for `multiprocessors` to have
/// work; each part needs `rows` doubles of workspace for each sum that is wanted.
std::int64_t pass_parts(std::int64_t rows, std::int64_t columns, int multiprocessors);

/// One pass over the process's part of A, regenerated in FP64; each row's terms are added in an
/// order that depends on nothing but the sizes and the number of multiprocessors.
cudaError_t multiply_generated(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                               std::int64_t row_count, const Cyclic& columns,
                               std::int64_t column_count, const double* x, const PassSums& sums,
                               std::int64_t parts, double* workspace);

// Panels --------------------------------------------------------------------------------------

/// *bits <- max(*bits, bits of the largest magnitude): from 0x7f800000 on there is an Inf or NaN.
cudaError_t largest_magnitude(cudaStream_t stream, MatrixView<const float> a, std::uint32_t* bits);
/// to <- round(sign * s * from), s by the largest magnitude: see Device::cast.
/// *scale <- s; *nonfinite <- 1 if there is an Inf or NaN.
cudaError_t cast(cudaStream_t stream, MatrixView<const float> from, float sign, AnyMatrix to,
                 const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite);
/// to <- sign * from in one pass; *scale <- 1; *nonfinite <- 1 if there is an Inf or NaN.
cudaError_t copy_signed(cudaStream_t stream, MatrixView<const double> from, double sign,
                        MatrixView<double> to, double* scale, std::int64_t* nonfinite);
/// *alpha <- 1 / (*l_scale * *u_scale)
cudaError_t inverse_scale(cudaStream_t stream, const double* l_scale, const double* u_scale,
                          float* alpha);

/// high + low = a up to 2^-16, each rounded to BF16: high <- round(a), low <- round(a - high).
cudaError_t split(cudaStream_t stream, MatrixView<const float> a, MatrixView<Bfloat16> high,
                  MatrixView<Bfloat16> low);
enum class Triangle { unit_lower, upper };
/// The same for one triangle of a, zeros in place of the other and ones on a unit diagonal; high is
/// written twice.
cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> a, Triangle triangle,
                           MatrixView<Bfloat16> high, MatrixView<Bfloat16> high_again,
                           MatrixView<Bfloat16> low);

/// A <- L^-1\U^-1 of A = L U, without pivoting, L unit lower. *bad_pivot <- begin + i for the first
/// pivot i that is zero or not finite, if *bad_pivot < 0 before.
/// @return cudaErrorInvalidValue where A is not square, or larger than tile_order
cudaError_t factor_tile(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                        std::int64_t* bad_pivot);

/// L^-1\U^-1 in place of L\U in all tiles of tile_order on the diagonal of a, the last may be
/// smaller.
cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a);

// Panels with pivoting, FP32 or FP64: see Device ------------------------------------------------

/// What the blocks of a search leave for the last of them. Zero at first, and then left to searches
/// that run one after another.
struct SearchSpace {
  static constexpr unsigned most_blocks = 1024;
  unsigned arrived;
  double magnitudes[most_blocks];
  std::int64_t rows[most_blocks];
};
/// Where a pivot is told, in device memory: its magnitude, infinite for Inf and NaN, and the first
/// row of that magnitude; -1 and -1 where there are no rows.
struct Found {
  double* magnitude = nullptr;
  std::int64_t* row = nullptr;
};

cudaError_t find_pivot(cudaStream_t stream, ConstAnyMatrix column, SearchSpace* space, Found found);
cudaError_t take_pivot(cudaStream_t stream, AnyMatrix rows, std::int64_t first,
                       const double* magnitude_found, const std::int64_t* row_found,
                       std::int64_t* pivot, std::int64_t* bad_pivot);
/// @param next not looked at where rows have one column
cudaError_t eliminate(cudaStream_t stream, ConstAnyMatrix pivot_row, AnyMatrix rows,
                      SearchSpace* space, Found next);
/// Bytes of a column that permute_rows may move.
constexpr std::int64_t permuted_bytes = 32 << 10;
/// @return cudaErrorInvalidValue where `count` rows of one column do not fit in permuted_bytes
cudaError_t permute_rows(cudaStream_t stream, const std::int64_t* from, const std::int64_t* to,
                         std::int64_t count, AnyMatrix a);
cudaError_t gather_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                        AnyMatrix to);
cudaError_t scatter_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                         AnyMatrix to);

// Refinement ----------------------------------------------------------------------------------

/// y <- y - A x or y - A^T x in FP64, A in FP32 or FP64.
cudaError_t subtract_product(cudaStream_t stream, Transpose transpose, ConstAnyMatrix a,
                             const double* x, double* y);
/// x <- T x or T^T x in FP64, T a triangle of a.
/// @return cudaErrorInvalidValue where a is not square, or larger than triangle_order
cudaError_t multiply_triangle(cudaStream_t stream, Transpose transpose, MatrixView<const float> a,
                              Triangle triangle, double* x);
/// y <- y + x
cudaError_t add(cudaStream_t stream, std::int64_t n, const double* x, double* y);

// A user's matrix: see Device ------------------------------------------------------------------

/// Adds entries to elements of A, in their order. Those of one place must follow each other.
cudaError_t add_entries(cudaStream_t stream, const MatrixEntry* entries, std::int64_t count,
                        MatrixView<double> a);
/// One pass over A, each row's terms added in an order that depends on nothing but the sizes.
cudaError_t multiply(cudaStream_t stream, MatrixView<const double> a, const double* x,
                     const PassSums& sums);
cudaError_t largest_of_rows(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                            double* most);
cudaError_t largest_of_columns(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                               double* most);
/// to: FP32 or FP64.
cudaError_t scale(cudaStream_t stream, MatrixView<const double> from, const double* row_scale,
                  const double* column_scale, AnyMatrix to);

}  // namespace lupine::cuda
