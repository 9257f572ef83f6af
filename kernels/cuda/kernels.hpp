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
#include "element/checksum.hpp"
#include "element/cyclic.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell::cuda {

/// The largest order of a matrix that factor_tile takes.
constexpr std::int64_t tile_order = 64;
/// The largest order of a triangle that substitute and multiply_transposed_triangle take.
constexpr std::int64_t triangle_order = 256;

// Benchmark matrices --------------------------------------------------------------------------

/// A <- the process's part of the matrix, rounded to A's precision, FP32 or FP64. spec.diagonal
/// points to device memory.
cudaError_t generate(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                     const Cyclic& columns, AnyMatrix a);

/// Where the sums of a pass over A go. All but ax may be null: that sum is not wanted.
struct PassSums {
  double* ax = nullptr;                ///< A x
  double* abs_rows = nullptr;          ///< sum_j |a_ij|
  double* abs_ax = nullptr;            ///< |A| |x|
  MatrixChecksum* checksum = nullptr;  ///< that of a matrix in memory is added to it
  PlaceKeys keys{};                    ///< where checksum is not null
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
/// magnitude that largest_magnitude found; FP16x3 gets both parts. `from` is FP32; a complex one is
/// expanded as in Device::cast. *nonfinite <- 1 if there is an Inf or NaN.
cudaError_t cast(cudaStream_t stream, ConstAnyMatrix from, float sign, AnyMatrix to,
                 const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite);
/// to <- from, rounded to nearest: from FP32 to FP16, BF16 or FP64, or from a 16-bit one to FP32.
cudaError_t convert(cudaStream_t stream, ConstAnyMatrix from, AnyMatrix to);
/// to <- sign * from and *scale <- 1, in one pass, in FP64; a complex matrix is expanded as in
/// Device::cast. *nonfinite <- 1 if there is an Inf or NaN.
cudaError_t copy_signed(cudaStream_t stream, ConstAnyMatrix from, double sign,
                        MatrixView<double> to, double* scale, std::int64_t* nonfinite);
/// *alpha <- 1 / (*l_scale * *u_scale), *low_alpha <- 2^-11 *alpha
cudaError_t inverse_scale(cudaStream_t stream, const double* l_scale, const double* u_scale,
                          float* alpha, float* low_alpha);

// Solves with a triangle, L X = B or X U = B, whose result will be rounded to 16 bits ------------
//
// A strip is triangle_order unknowns: rows of X if the triangle is lower, columns if it is upper.
// Block (s, s) of the triangle holds its inverse. Shapes below are those of L X = B, with m
// right-hand sides; for X U = B rows and columns are exchanged. docs/numerics.md, 3.4.

/// What bounds the numbers of a solve, in device memory; its FP16 scales follow from it. All words
/// are zero before split_triangle, and only grow. So the bounds of right-hand sides that are solved
/// later hold for those before them too.
struct SolveBounds {
  std::uint32_t* memory;
  std::int64_t strips;

  static constexpr std::int64_t words(std::int64_t strips) { return 3 * strips; }
  /// The bits of the largest magnitude among the factors of the sum for strip s: row s of L, or
  /// column s of U, beside the diagonal.
  SPEEDWELL_ELEMENT std::uint32_t* factor(std::int64_t s) const { return memory + s; }
  /// The bits of the largest magnitude among the right-hand sides of strip s, less their sums.
  SPEEDWELL_ELEMENT std::uint32_t* right(std::int64_t s) const { return memory + strips + s; }
  /// The upper half of an FP64 number: the norm of inverse s, rounded up. The norm is the largest
  /// sum of magnitudes in a row of L_ss^-1, or in a column of U_ss^-1. So no solution of strip s
  /// exceeds right(s) times the norm.
  SPEEDWELL_ELEMENT std::uint32_t* inverse(std::int64_t s) const { return memory + 2 * strips + s; }
};

/// Rows s of `parts` <- [high high low], the BF16 parts of the w x w inverse s: high = round(a),
/// low = round(a - high). high + low differs from a by at most a relative 2^-16. Sets the bounds
/// factor(s) and inverse(s) of all strips.
/// @param parts n x 3 triangle_order; the last strip has 3 w columns in use
cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> lu, Triangle triangle,
                           MatrixView<Bfloat16> parts, const SolveBounds& bounds);
/// `parts` <- [high; low; high], the BF16 parts of the right-hand sides `b` of strip s, w x m. Sets
/// the bound right(s).
cudaError_t split(cudaStream_t stream, MatrixView<const float> b, Triangle triangle, std::int64_t s,
                  const SolveBounds& bounds, MatrixView<Bfloat16> parts);

/// A strip that is solved, and the factors of the sum for the strip behind it.
struct SolvedStrip {
  std::int64_t s = 0;
  MatrixView<const float> x;  ///< the solution of strip s
  MatrixView<Half> known;     ///< <- round(2^e_s x)
  MatrixView<const float> a;  ///< the row s + 1 of the triangle, as far as column s
  MatrixView<Half> factor;    ///< <- round(2^(p - e_t) a) for its columns t
  float* alpha = nullptr;     ///< <- -2^-p, so that alpha * factor * (rounded solutions) is -a x
};
/// Rounds a strip and the factors of the next sum to FP16, in one pass: the scales are known
/// before. e_t is the largest exponent with right(t) inverse(t) 2^e_t < 2^15, or the nearest number
/// from -113 to 120, or 0 if a bound is not finite. With the largest f with 2^f factor(s + 1) <
/// 2^15, p = f + min_t e_t, or the nearest number from -126 to 126.
/// @return cudaErrorInvalidValue if `a` ends before strip s does, or behind it
cudaError_t round_strip(cudaStream_t stream, Triangle triangle, const SolveBounds& bounds,
                        const SolvedStrip& strip);

/// The inverse of a triangle of order n without its diagonal, rounded to FP16, in device memory.
struct WholeInverse {
  MatrixView<Half> values;  ///< round(s (U^-1 - D^-1)) with D the diagonal of U, or s (L^-1 - I)
  float* diagonal;          ///< n numbers: those of D^-1, or ones
  double* scale;            ///< s: as that of a cast to FP16
  std::uint32_t* largest;   ///< bits of the largest magnitude of what is rounded
};
/// Rounds an inverse, of which the triangle counts. *to.largest is 0 before. *growth <- the bits of
/// the larger of what it was and the largest 2-norm of a column beside the diagonal, for U^-1
/// divided by the number on the diagonal: rounding errors of a solve grow by about that.
cudaError_t round_inverse(cudaStream_t stream, MatrixView<const float> inverse, Triangle triangle,
                          const WholeInverse& to, std::uint32_t* growth);
/// Order of the blocks that invert_lower() inverts.
constexpr std::int64_t inverted_lower = 128;
/// Dynamic shared memory of invert_lower().
constexpr std::size_t inverted_lower_bytes = inverted_lower * (inverted_lower + 1) * sizeof(double);
/// Of each block L_s of order 128 on the diagonal of a unit lower triangle: columns 128 s .. of
/// `inverses`, which has 128 rows, <- L_s^-1, with zeros above the diagonal. The last block may be
/// smaller. *growth as in round_inverse().
cudaError_t invert_lower(cudaStream_t stream, MatrixView<const double> l,
                         MatrixView<double> inverses, std::uint32_t* growth);
/// rounded <- round(s B), with the s of a cast to FP16 for the largest magnitude that
/// largest_magnitude found; *scale <- s. Then b_ij <- b_ij diagonal_j, unless that is null.
cudaError_t split_diagonal(cudaStream_t stream, MatrixView<float> b, const float* diagonal,
                           MatrixView<Half> rounded, const std::uint32_t* largest, double* scale);

// Diagonal blocks -----------------------------------------------------------------------------

/// A <- L^-1\U^-1 of A = L U, without pivoting, L unit lower. If pivot i is the first that is zero
/// or not finite, *bad_pivot <- begin + i, unless *bad_pivot >= 0 already.
/// @return cudaErrorInvalidValue if A is not square, or larger than tile_order
cudaError_t factor_tile(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                        std::int64_t* bad_pivot);

/// Replaces L\U by L^-1\U^-1 in all tiles of tile_order on the diagonal of `a`; the last tile may
/// be smaller. @return cudaErrorInvalidValue if `a` is not square
cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a);

/// Blocks of threads of factor_block() for which a multiprocessor has room at once.
constexpr int factor_blocks_at_once = 2;
/// Bytes of the scratch memory of factor_block().
std::int64_t factor_block_scratch(std::int64_t n);
/// A <- L\U of A = L U, without pivoting, with L^-1\U^-1 in its blocks of triangle_order on the
/// diagonal. By one kernel of at most `most_blocks` blocks of threads, which wait for each other: a
/// multiprocessor has room for factor_blocks_at_once. *bad_pivot as in factor_tile(). *stuck <- 1
/// where a block has looked `most_looks` times, some seconds, for what another should have made;
/// then A is unspecified.
/// @return cudaErrorInvalidValue if A is not square
cudaError_t factor_block(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                         int most_blocks, std::byte* scratch, std::int64_t* bad_pivot,
                         std::int64_t* stuck, unsigned most_looks = 1u << 26);

// Panels with pivoting, FP32 or FP64, real or complex: as in Device ------------------------------

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
/// Columns of a leaf at most.
constexpr std::int64_t leaf_columns = 32;
/// Where the blocks of threads of factor_leaf() run, all at once.
struct LeafRoom {
  int multiprocessors;
  std::size_t shared_bytes;  ///< of shared memory that a block may have
};
/// The exchanges of a leaf as one permutation: row to[i] gets what was in row from[i], for 2 w
/// moves in a leaf of w columns. A move may stand there twice.
struct LeafMoves {
  std::int64_t* from;
  std::int64_t* to;
};
/// Whether factor_leaf() can factor these columns: real ones, few enough, whose rows fit.
bool leaf_fits(ConstAnyMatrix a, const LeafRoom& room);
/// Bytes of scratch memory of factor_leaf().
std::int64_t leaf_scratch(int multiprocessors);
/// Some columns of a panel with partial pivoting, by one kernel: `a` and the pivots become what
/// find_pivot, take_pivot and eliminate of one column after the other make of them, to the bit.
/// Rows are exchanged in these columns alone. pivots[k] <- first + the row with which row k was
/// exchanged. *bad_pivot <- first + k for the first pivot that is zero or not finite, unless it is
/// set. *stuck <- 1 where a block of threads has waited for seconds; then `a` is unspecified.
/// @return cudaErrorInvalidValue unless leaf_fits()
cudaError_t factor_leaf(cudaStream_t stream, AnyMatrix a, const LeafRoom& room, std::byte* scratch,
                        std::int64_t first, std::int64_t* pivots, const LeafMoves& moves,
                        std::int64_t* bad_pivot, std::int64_t* stuck);
/// The most bytes of a column that permute_rows can move.
constexpr std::int64_t permuted_bytes = 32 << 10;
/// Device::permute_rows. A move may stand there twice.
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
/// Rows of a right-hand side whose products with an inverse are one part of the solution.
constexpr std::int64_t part_order = 32;
/// Doubles of memory for the parts of one block of triangle_order unknowns.
constexpr std::int64_t parts_size = triangle_order / part_order * triangle_order;
/// One step of the solve T x = b by blocks of unknowns, T a triangle of a matrix with the inverses
/// of T's diagonal blocks in their places. The step knows the block of unknowns before it as a sum
/// of parts, subtracts that block's columns from the right-hand sides behind it, and computes the
/// parts of the next block, each from part_order of the next block's right-hand sides.
struct SubstitutionStep {
  Triangle triangle = Triangle::upper;
  MatrixView<const float> a;  ///< a block's columns, in the rows still to be solved for; may have
                              ///< no columns: then there is no such block yet
  const double* parts = nullptr;  ///< of the block: ceil_div(a.columns, part_order) columns of
                                  ///< triangle_order doubles
  double* x = nullptr;            ///< <- the sum of the parts, a.columns entries
  double* y = nullptr;            ///< a.rows right-hand sides: y <- y - A x
  MatrixView<const float> next;   ///< T_ss^-1 of the next block; may be empty: there is no such
  std::int64_t next_row = 0;      ///< where the next block begins in y
  double* next_parts = nullptr;   ///< <- its parts; must not overlap `parts`
};
/// Runs a step, in FP64. The order of its sums depends only on sizes.
/// @return cudaErrorInvalidValue if a block is larger than triangle_order or not inside of y, or if
/// next_row is no multiple of part_order
cudaError_t substitute(cudaStream_t stream, const SubstitutionStep& step);
/// x <- T^T x in FP64, T a triangle of `a`.
/// @return cudaErrorInvalidValue if `a` is not square, or larger than triangle_order
cudaError_t multiply_transposed_triangle(cudaStream_t stream, MatrixView<const float> a,
                                         Triangle triangle, double* x);
/// Y <- Y + X, of one shape and precision, FP32 or FP64.
cudaError_t add(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y);
/// Device::add_pairs. @param sums whether columns of X are summands: Pairs::sums
cudaError_t add_pairs(cudaStream_t stream, bool sums, ConstAnyMatrix x, AnyMatrix y);
/// Device::spread_pairs.
cudaError_t spread_pairs(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y);
/// Y, in planes, <- the vectors that are the first of each two columns of X, in pairs: the inverse
/// of spread_pairs.
cudaError_t gather_pairs(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y);

// A user's matrix: as in Device ----------------------------------------------------------------

/// Adds entries to elements of A, in their order. Entries for the same element must be next to each
/// other.
cudaError_t add_entries(cudaStream_t stream, const MatrixEntry* entries, std::int64_t count,
                        MatrixView<double> a);
/// One pass over A: computes `sums`, of A or of A^T. The order of a sum depends only on the sizes.
cudaError_t multiply(cudaStream_t stream, Transpose transpose, MatrixView<const double> a,
                     const double* x, const PassSums& sums);
/// Where the sums of multiply_extended() go. The last three may be null: not wanted.
struct ExtendedSums {
  double* ax = nullptr;                ///< the high parts of A x
  double* ax_low = nullptr;            ///< its low parts
  double* a_x_low = nullptr;           ///< A x_low, in FP64
  double* abs_rows = nullptr;          ///< sum_j |a_ij|
  double* abs_ax = nullptr;            ///< |A| |x|
  MatrixChecksum* checksum = nullptr;  ///< as in PassSums
  PlaceKeys keys{};
};
/// Device::multiply_extended for one vector. The order of a sum depends only on the sizes.
cudaError_t multiply_extended(cudaStream_t stream, Transpose transpose, MatrixView<const double> a,
                              const double* x, const double* x_low, const ExtendedSums& sums);
/// Device::largest_of_rows.
cudaError_t largest_of_rows(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                            double* most);
/// Device::largest_of_columns.
cudaError_t largest_of_columns(cudaStream_t stream, ConstAnyMatrix a, const double* scale,
                               double* most);
/// Device::checksums_of_columns, by these keys.
cudaError_t checksums_of_columns(cudaStream_t stream, MatrixView<const double> a,
                                 const std::uint64_t* row_keys, std::uint64_t* sums);
/// Device::scale.
cudaError_t scale(cudaStream_t stream, MatrixView<const double> from, const double* row_scale,
                  const double* column_scale, AnyMatrix to);
/// Device::take_magnitudes.
cudaError_t take_magnitudes(cudaStream_t stream, AnyMatrix a);

}  // namespace speedwell::cuda
