// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The matrix A and the right-hand sides b of a user's system, in each form in which a program may
/// have them.
#pragma once

#include <speedwell/export.hpp>
#include <speedwell/options.hpp>

#include <array>
#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

namespace speedwell {

/// ScaLAPACK's array descriptor of a dense matrix: DTYPE_ = 1, CTXT_ (not used), M_, N_, MB_, NB_,
/// RSRC_, CSRC_, LLD_.
using Descriptor = std::array<std::int64_t, 9>;

/// Returns element (i, j) of a matrix, both indices from 0. It is called from several threads at
/// once. An exception that it throws leaves the call of Speedwell on the same rank; the other ranks
/// throw an AgreedFault, or a UsageError if the function threw a UsageError.
using ElementFunction = std::function<double(std::int64_t i, std::int64_t j)>;

/// Sets a block of a matrix: a[p + q * lda] <- element (i[p], j[q]) for all p and q. The indices
/// ascend, and count from 0. Only the thread that called Speedwell calls it. Exceptions as those of
/// an ElementFunction.
using BlockFunction = std::function<void(
    std::span<const std::int64_t> i, std::span<const std::int64_t> j, double* a, std::int64_t lda)>;

/// As ElementFunction, of a complex matrix or complex right-hand sides.
using ComplexElementFunction = std::function<std::complex<double>(std::int64_t i, std::int64_t j)>;
/// As BlockFunction, of a complex matrix or complex right-hand sides.
using ComplexBlockFunction =
    std::function<void(std::span<const std::int64_t> i, std::span<const std::int64_t> j,
                       std::complex<double>* a, std::int64_t lda)>;

class MatrixSource;
class RightHandSideSource;

/// The n x n matrix A, in FP64, real or complex. A Matrix refers to the caller's function or array,
/// which must live and stay as it is for as long as the Matrix, or a Factorization of it, is used.
///
/// The array of dense() on one rank, and those of block_cyclic(), may also be in the memory of the
/// GPU on which the rank computes (or in managed memory). A is then used where it lies, and takes
/// no other FP64 memory; Speedwell waits for all work of the GPU before it reads A. There is a
/// UsageError where that is impossible: with ranks that compute on CPUs, for dense() on several
/// ranks, where the distribution is not one that is used in place, and for another RunOptions::nb
/// than NB_.
class SPEEDWELL_API Matrix {
 public:
  /// A as a function of its indices. Every rank computes the elements of its part, once.
  /// @param n order of A, equal on every rank
  /// @param element element (i, j) of A
  /// @return the matrix
  static Matrix from_function(std::int64_t n, ElementFunction element);
  /// A complex A as a function of its indices, as from_function().
  /// @param n order of A, equal on every rank
  /// @param element element (i, j) of A
  /// @return the matrix
  static Matrix from_complex_function(std::int64_t n, ComplexElementFunction element);
  /// A as a function that fills blocks of it. Every rank computes its part, once, in blocks of at
  /// most 4 MB, which lie within its part.
  /// @param n order of A, equal on every rank
  /// @param block sets a block of A
  /// @return the matrix
  static Matrix from_blocks(std::int64_t n, BlockFunction block);
  /// A complex A as a function that fills blocks of it, as from_blocks().
  /// @param n order of A, equal on every rank
  /// @param block sets a block of A
  /// @return the matrix
  static Matrix from_complex_blocks(std::int64_t n, ComplexBlockFunction block);
  /// A from the parts of all ranks in a block-cyclic distribution. It is never changed. The process
  /// grid is that of SolveOptions::run, numbered as BLACS does, by rows or by columns.
  ///
  /// A device that can read host memory reads A where it lies if, on several ranks, MB_ = NB_,
  /// RSRC_ = CSRC_ = 0, and NB_ is RunOptions::nb or, where that is 0, at least half of the block
  /// size that Speedwell would choose. Otherwise the ranks redistribute A once into a copy in the
  /// blocks chosen, which takes 8 n^2 bytes over all ranks. If there is no room for the copy, A
  /// stays in place. Solution::chosen and Solution::notes tell the outcome.
  /// @throws UsageError later, from solve() and Factorization, if there is no room for the copy
  /// that
  ///         RunOptions::nb, MB_ != NB_, RSRC_ or CSRC_ make necessary
  /// @param descriptor M_ = N_ = n; any MB_, NB_, RSRC_ and CSRC_; equal on every rank but for LLD_
  /// @param local this rank's part, column-major with leading dimension LLD_; null is allowed where
  ///              this rank has no part
  /// @return the matrix
  static Matrix block_cyclic(const Descriptor& descriptor, const double* local);
  /// A complex A from the parts of all ranks, as block_cyclic().
  /// @param descriptor as in block_cyclic(), in elements
  /// @param local this rank's part, column-major with leading dimension LLD_
  /// @return the matrix
  static Matrix complex_block_cyclic(const Descriptor& descriptor,
                                     const std::complex<double>* local);
  /// A from an array on one rank, which sends the other ranks their parts.
  ///
  /// A row-major array is the column-major array of A^T. It is used as it lies: Speedwell factors
  /// A^T, whose transpose solves for A in the same time. Pivots are then those of A^T:
  /// SolveStep::bad_pivot counts columns of the LU of A^T.
  /// @param n order of A, equal on every rank
  /// @param a n x n; read on `root` only, null is allowed elsewhere
  /// @param lda at least n: the distance of two columns, or of two rows of a row-major array, in
  ///            elements; read on `root` only
  /// @param root the rank that has A, equal on every rank
  /// @param order how the elements lie, equal on every rank
  /// @return the matrix
  static Matrix dense(std::int64_t n, const double* a, std::int64_t lda, int root = 0,
                      StorageOrder order = StorageOrder::column_major);
  /// A complex A from an array on one rank, as dense().
  /// @param n order of A, equal on every rank
  /// @param a n x n; read on `root` only, null is allowed elsewhere
  /// @param lda leading dimension of a, in elements; read on `root` only
  /// @param root the rank that has A, equal on every rank
  /// @param order how the elements lie, equal on every rank
  /// @return the matrix
  static Matrix complex_dense(std::int64_t n, const std::complex<double>* a, std::int64_t lda,
                              int root = 0, StorageOrder order = StorageOrder::column_major);
  /// A from a source of the library itself, such as a file.
  /// @param source not null
  explicit Matrix(std::shared_ptr<MatrixSource> source);

  /// @return The source of A, for the library itself.
  MatrixSource& source() const { return *source_; }

 private:
  std::shared_ptr<MatrixSource> source_;
};

/// The right-hand sides b, one or several columns, in FP64, complex where A is. Their form
/// determines that of Solution::x. A RightHandSide refers to the caller's function or array, as a
/// Matrix does.
class SPEEDWELL_API RightHandSide {
 public:
  /// b as a function of its indices. Every rank gets all of x: n x count, column-major.
  /// @param count columns of b, at least 1, equal on every rank
  /// @param element (i, k): element i of right-hand side k
  /// @return the right-hand sides
  static RightHandSide from_function(std::int64_t count, ElementFunction element);
  /// Complex right-hand sides as a function of their indices, as from_function().
  /// @param count columns of b, at least 1, equal on every rank
  /// @param element (i, k): element i of right-hand side k
  /// @return the right-hand sides
  static RightHandSide from_complex_function(std::int64_t count, ComplexElementFunction element);
  /// b as a function that fills blocks of it. Each element is computed once, on one rank, in blocks
  /// of one column. Every rank gets all of x: n x count, column-major.
  /// @param count columns of b, at least 1, equal on every rank
  /// @param block sets a block of b; j are the numbers of right-hand sides
  /// @return the right-hand sides
  static RightHandSide from_blocks(std::int64_t count, BlockFunction block);
  /// Complex right-hand sides as a function that fills blocks of them, as from_blocks().
  /// @param count columns of b, at least 1, equal on every rank
  /// @param block sets a block of b; j are the numbers of right-hand sides
  /// @return the right-hand sides
  static RightHandSide from_complex_blocks(std::int64_t count, ComplexBlockFunction block);
  /// b from the parts of all ranks in a block-cyclic distribution. Every rank gets its part of x in
  /// the same distribution, column-major with leading dimension LLD_.
  /// @param descriptor M_ is n; any N_, MB_, NB_, RSRC_ and CSRC_; equal on every rank but for LLD_
  /// @param local this rank's part, column-major with leading dimension LLD_; null is allowed where
  ///              this rank has no part
  /// @return the right-hand sides
  static RightHandSide block_cyclic(const Descriptor& descriptor, const double* local);
  /// Complex right-hand sides from the parts of all ranks, as block_cyclic().
  /// @param descriptor as in block_cyclic(), in elements
  /// @param local this rank's part, column-major with leading dimension LLD_
  /// @return the right-hand sides
  static RightHandSide complex_block_cyclic(const Descriptor& descriptor,
                                            const std::complex<double>* local);
  /// b from an array on one rank. That rank gets all of x, n x count, column-major with leading
  /// dimension n; on other ranks x is empty.
  /// @param count columns of b, at least 1, equal on every rank
  /// @param b n x count, column-major; read on `root` only, null is allowed elsewhere
  /// @param ldb leading dimension of b, at least n; read on `root` only
  /// @param root the rank that has b, equal on every rank
  /// @return the right-hand sides
  static RightHandSide dense(std::int64_t count, const double* b, std::int64_t ldb, int root = 0);
  /// Complex right-hand sides from an array on one rank, as dense().
  /// @param count columns of b, at least 1, equal on every rank
  /// @param b n x count, column-major; read on `root` only, null is allowed elsewhere
  /// @param ldb leading dimension of b, in elements; read on `root` only
  /// @param root the rank that has b, equal on every rank
  /// @return the right-hand sides
  static RightHandSide complex_dense(std::int64_t count, const std::complex<double>* b,
                                     std::int64_t ldb, int root = 0);
  /// b = A times a vector of ones (A^T times ones where A^T x = b is solved), so that the exact x
  /// is a vector of ones. Every rank gets all of x.
  /// @return the right-hand side
  static RightHandSide of_ones();
  /// b from a source of the library itself, such as a file.
  /// @param source not null
  explicit RightHandSide(std::shared_ptr<RightHandSideSource> source);

  /// @return The source of b, for the library itself.
  RightHandSideSource& source() const { return *source_; }

 private:
  std::shared_ptr<RightHandSideSource> source_;
};

}  // namespace speedwell
