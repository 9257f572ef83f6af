// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves a user's own system A x = b: 16-bit LU with partial pivoting, refined to FP64, and
/// stronger factors where the measured errors ask for them.
///
/// The steps, each with the refinement that is asked for (automatic: classical, then GMRES):
/// 16-bit update, FP32 update, FP64 LU. A step's x counts only if its componentwise backward error
/// (Oettli & Prager), measured in FP64 with A as it was given, is at most `tolerance`; with FP64 LU
/// and the default tolerance also if the normwise one of the scaled system is.
#pragma once

#include <mpi.h>
#include <lupine/error.hpp>
#include <lupine/export.hpp>
#include <lupine/options.hpp>
#include <lupine/progress.hpp>

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace lupine {

/// ScaLAPACK's array descriptor of a dense matrix: DTYPE_ = 1, CTXT_ (not used), M_, N_, MB_, NB_,
/// RSRC_, CSRC_, LLD_. MB_ = NB_ and RSRC_ = CSRC_ = 0 for A.
using Descriptor = std::array<std::int64_t, 9>;

/// Element (i, j) of a matrix, 0-based. Called from several threads at once.
using ElementFunction = std::function<double(std::int64_t i, std::int64_t j)>;

class MatrixSource;
class RightHandSideSource;

/// The n x n matrix A, in FP64. A handle: what it refers to must live as long as it is used.
class LUPINE_API Matrix {
 public:
  /// (a) by its elements. Every rank computes those of its part, once.
  static Matrix from_function(std::int64_t n, ElementFunction element);
  /// (b) this rank's part of a block-cyclic matrix, column-major; read where it is, and never
  /// changed. The process grid is that of the options (as BLACS's, row or column order).
  static Matrix block_cyclic(const Descriptor& descriptor, const double* local);
  /// (c) column-major on rank `root`; other ranks may pass null.
  static Matrix dense(std::int64_t n, const double* a, std::int64_t lda, int root = 0);
  /// (d) any other source.
  explicit Matrix(std::shared_ptr<MatrixSource> source);

  MatrixSource& source() const { return *source_; }

 private:
  std::shared_ptr<MatrixSource> source_;
};

/// b, of one or several columns, in FP64; the solution has its form.
class LUPINE_API RightHandSide {
 public:
  /// Element (i, k): of row i of right-hand side k. x: all of it on every rank.
  static RightHandSide from_function(std::int64_t count, ElementFunction element);
  /// This rank's part of an n x count block-cyclic matrix; any MB_, NB_, RSRC_, CSRC_. x: this
  /// rank's part, column-major, with the descriptor's LLD_.
  static RightHandSide block_cyclic(const Descriptor& descriptor, const double* local);
  /// Column-major on rank `root`. x: there, n x count without gaps; elsewhere empty.
  static RightHandSide dense(std::int64_t count, const double* b, std::int64_t ldb, int root = 0);
  /// b = A times ones, one column: x should be ones. x: all of it on every rank.
  static RightHandSide of_ones();
  /// Any other source.
  explicit RightHandSide(std::shared_ptr<RightHandSideSource> source);

  RightHandSideSource& source() const { return *source_; }

 private:
  std::shared_ptr<RightHandSideSource> source_;
};

/// One step that was tried.
struct SolveStep {
  Precision precision = Precision::automatic;  ///< fp16, bf16, fp32 or fp64: what the update read
  bool solved = false;                         ///< all right-hand sides that were left
  std::string why;                             ///< why not; empty if solved
  double factor_seconds = 0;                   ///< scaling and rounding A, and the LU factorization
  double refine_seconds = 0;                   ///< 0: the factors were of no use
  int iterations = 0;                          ///< corrections of all right-hand sides
  std::int64_t bad_pivot = -1;  ///< 0-based index of a zero or non-finite pivot, or -1
};

/// How good one right-hand side's x is. Norms are infinity norms of the system as it was given.
struct SolveColumn {
  Precision precision = Precision::automatic;  ///< of the step that gave x
  RefineMethod method = RefineMethod::ir;      ///< that ended its refinement
  int iterations = 0;                          ///< in that step
  bool converged = false;                      ///< x meets the tolerance
  double hpl_residual = 0;         ///< ||r|| / (eps (||A|| ||x|| + ||b||) n), eps = 2^-53
  double backward_error = 0;       ///< ||r|| / (||A|| ||x|| + ||b||)
  double componentwise_error = 0;  ///< max_i |r|_i / (|A||x| + |b|)_i, 0/0 being 0
  /// Bound of ||x - x*|| / ||x||, x* the exact solution, as LAPACK's dgerfs: || |A^-1| (|r| + (n+1)
  /// eps (|A||x| + |b|)) || / ||x||. NaN where it was not asked for.
  double forward_bound = 0;
};

/// Equal on every rank but for x.
struct Solution {
  std::vector<double> x;  ///< in the form of the right-hand side
  std::int64_t n = 0;
  std::vector<SolveStep> steps;      ///< in the order they were tried; the last one gave an answer
  std::vector<SolveColumn> columns;  ///< by right-hand side
  bool converged = false;            ///< all of them
  double norm_a = 0;                 ///< ||A||
  /// ||A|| ||A^-1||, estimated (Higham & Tisseur 2000 with one column: LAPACK's dlacn2), of the
  /// scaled matrix where it was equilibrated. NaN where it was not asked for, infinity where it is
  /// too large to tell.
  double condition = 0;
  bool equilibrated = false;       ///< scales other than 1 were used
  double load_seconds = 0;         ///< of getting A
  double seconds = 0;              ///< scales, factorizations and refinements
  double check_seconds = 0;        ///< errors of x, condition, bounds
  std::vector<std::string> notes;  ///< warnings
  RunOptions chosen;               ///< for the first step: every zero and `automatic` resolved
  std::string device;              ///< description
  std::int64_t panel_width = 0;

  /// The step that gave the last answer.
  Precision precision() const {
    return steps.empty() ? Precision::automatic : steps.back().precision;
  }
};

/// A cannot be solved with: a pivot of the FP64 LU is exactly zero.
class LUPINE_API SingularError : public Error {
 public:
  SingularError(const std::string& words, std::int64_t pivot) : Error(words), pivot_(pivot) {}
  /// 0-based; LAPACK's info is one more.
  std::int64_t pivot() const { return pivot_; }

 private:
  std::int64_t pivot_;
};

/// No step that was allowed gave an x of the tolerance.
class LUPINE_API AccuracyError : public Error {
 public:
  AccuracyError(const std::string& words, std::shared_ptr<const Solution> best)
      : Error(words), best_(std::move(best)) {}
  /// The best that was found, with its errors.
  const Solution& best() const { return *best_; }

 private:
  std::shared_ptr<const Solution> best_;
};

/// A factored matrix: factor once, solve many. All members are collective over the communicator.
class LUPINE_API Factorization {
 public:
  /// Distributes, scales and factors A in the first step that gives usable factors.
  /// The calling thread makes all MPI calls.
  /// @throws UsageError (every rank) where the input or the options are not allowed or do not fit,
  ///         and where MPI is not initialized;
  ///         SingularError (every rank); AccuracyError (every rank) where a fixed precision gives
  ///         no usable factors; Fault, as mxp() does
  Factorization(MPI_Comm comm, const Matrix& a, const SolveOptions& options = {},
                const ProgressFunction& progress = {});
  Factorization(Factorization&&) noexcept;
  Factorization& operator=(Factorization&&) noexcept;
  ~Factorization();

  /// Solves with the factors that there are; factors anew, in the next step, where these are too
  /// weak for b, and keeps those. The first solution's steps and times include the constructor's;
  /// a later one's begin with the factors that there were, at no cost.
  /// @throws the same, and AccuracyError where x does not meet the tolerance
  Solution solve(const RightHandSide& b);

  std::int64_t n() const;

 private:
  class Implementation;
  friend LUPINE_API Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b,
                                   const SolveOptions& options, const ProgressFunction& progress);
  std::unique_ptr<Implementation> implementation_;
};

/// Solves A x = b. The same as Factorization(comm, a, options, progress).solve(b), but that b is
/// looked at before A is.
LUPINE_API Solution solve(MPI_Comm comm, const Matrix& a, const RightHandSide& b,
                          const SolveOptions& options = {}, const ProgressFunction& progress = {});

}  // namespace lupine
