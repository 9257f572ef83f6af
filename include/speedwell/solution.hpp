// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What speedwell::solve() returns and throws. These types need no mpi.h. Norms are infinity norms,
/// and eps = 2^-53.
#pragma once

#include <speedwell/error.hpp>
#include <speedwell/export.hpp>
#include <speedwell/options.hpp>

#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

namespace speedwell {

/// One step of a solve: factors of one precision, and the refinement with them.
struct SolveStep {
  Precision precision = Precision::automatic;  ///< what the update read
  bool solved = false;        ///< whether the step solved all right-hand sides that were left
  std::string why;            ///< why it did not; empty if solved
  double factor_seconds = 0;  ///< scaling and rounding of A, and LU; 0 for factors kept from before
  double refine_seconds = 0;  ///< refinement of all right-hand sides; 0 without usable factors
  int iterations = 0;         ///< corrections of all right-hand sides
  std::int64_t bad_pivot = -1;  ///< 0-based index of a zero or non-finite pivot, or -1
  /// max |u_ij| / max |a_ij| of the scaled matrix: the growth of its entries in this LU. NaN where
  /// it was not measured.
  double growth = std::numeric_limits<double>::quiet_NaN();
  /// Whether A was mixed by random rotations from both sides before its LU, against such a growth.
  bool rotated = false;
};

/// Errors of one right-hand side's x. Norms are those of the system as it was given; r = b - A x.
/// Where A^T x = b was solved, A stands for A^T here.
struct SolveColumn {
  Precision precision = Precision::automatic;  ///< of the step that gave x
  RefineMethod method = RefineMethod::ir;  ///< ir or gmres: the method that ended its refinement
  int iterations = 0;                      ///< corrections in that step
  bool converged = false;                  ///< whether x was accepted
  double hpl_residual = 0;    ///< ||r|| / (eps (||A|| ||x|| + ||b||) n); NaN where not measured
  double backward_error = 0;  ///< normwise: ||r|| / (||A|| ||x|| + ||b||)
  /// max_i |r|_i / (|A||x| + |b|)_i, 0/0 being 0. NaN where it was not measured: with FP64 factors,
  /// more than 8 right-hand sides and the default tolerance, the normwise error of the scaled
  /// system is estimated from 16 random combinations of the entries of r. An x is accepted where
  /// four times the estimate is within the tolerance, and backward_error is that number, in 2-norms
  /// and Frobenius norms. The norm of r exceeds four times its estimate with a probability of at
  /// most 1.4e-7. Not with ConditionCheck::full.
  double componentwise_error = 0;
  /// Estimated bound of ||x - x*|| / ||x||, x* being the exact solution. For up to 8 right-hand
  /// sides, or with ConditionCheck::full, as in LAPACK's dgerfs:
  /// || |A^-1| (|r| + (n+1) eps (|A||x| + |b|)) || / ||x||, and what underflow may have changed.
  /// For more, ||A^-1|| times a bound of the norm of the vector in parentheses. Infinity where
  /// Solution::condition_at_least. NaN where it was not asked for or x was not accepted.
  double forward_bound = 0;
  std::string why{};  ///< why x was not accepted, where b is the reason: its Inf or NaN
  /// Whether x was refined to its last digit (Accuracy::forward): its corrections became small
  /// enough, and the condition number, where it was estimated, is below 1 / (10 n 2^-53). Then
  /// forward_bound holds for that x, and is about 2^-53.
  bool accurate = false;
  /// Estimated bound of max_i |x_i - x*_i| / |x_i| of an x that is accurate, or a proven one of an
  /// x that is certified: infinity where an x_i is zero, NaN otherwise, and for more than 8
  /// right-hand sides without ConditionCheck::full.
  double componentwise_bound = std::numeric_limits<double>::quiet_NaN();
  /// Whether forward_bound and componentwise_bound are proven (Accuracy::certified): whatever was
  /// rounded, the errors do not exceed them. An x without a proof has no bounds then: both are NaN.
  bool certified = false;
};

/// The proof behind the bounds of Accuracy::certified: R, an approximate inverse of the scaled A,
/// for which ||I - R A|| < 1. The last one that was tried. Formulas and sources: docs/numerics.md.
struct SolveProof {
  double operations = 0;        ///< that one proof takes beside the solve, announced; 0: none asked
  double expected_seconds = 0;  ///< of these by the measured rates; 0: no rates were measured
  double seconds = 0;           ///< of all proofs of this solve
  Precision inverse = Precision::automatic;   ///< of the factors by which R was made
  Precision products = Precision::automatic;  ///< of I - R A; automatic where it was not computed
  /// An upper bound of ||I - R A||, rounding errors included. NaN where it was not computed.
  double norm = std::numeric_limits<double>::quiet_NaN();
  std::string why_none;  ///< why there is no proof for every x, in one line; empty: there is
};

/// Memory of a solve, in bytes: of each rank's device where that has its own, else of the host.
struct SolveMemory {
  /// What a rank was planned to need, of the step that needs most: program and libraries, the copy
  /// of A where there is one, factors, panels, vectors. 0 for a small system, which has no plan.
  double needed = 0;
  double free = 0;  ///< what each rank might have allocated when the first step was planned
  /// What this rank's device has allocated at most; -1: it uses the host's.
  double device_peak = -1;
};

/// A condition number ||A|| ||A^-1|| in the infinity norm, estimated.
struct ConditionEstimate {
  double value = 0;       ///< infinity where it is too large to estimate
  bool at_least = false;  ///< whether it is a lower bound only, because the factors are too
                          ///< inaccurate for an estimate
};

/// A determinant, whose magnitude may be beyond FP64's range.
struct Determinant {
  std::complex<double> sign{1};  ///< det(A) / |det(A)|; 1 or -1 of a real A; 0 of det(A) = 0
  double log_magnitude = 0;      ///< ln |det(A)|; -infinity of det(A) = 0
  /// det(A) = mantissa 2^exponent; the larger part of the mantissa is in [1/2, 1) in magnitude, or
  /// 0. Both are exact of a product of pivots that is exact, such as that of a permutation.
  std::complex<double> mantissa{0.5};
  std::int64_t exponent = 1;  ///< of 2
  /// Why no digit may be correct, nor the sign, in one line; empty: there is no such doubt.
  std::string doubt{};
};

/// Outcome of a solve. All members but x, the times and the device's peak are equal on every rank.
/// Where A^T x = b was solved, norm_a and condition are those of A^T. SolveStep::factor_seconds is
/// the time of the slowest rank, other times are those of this rank.
struct Solution {
  /// This rank's part, in the form of the right-hand side. Of a complex system each element is two
  /// numbers, its real part and its imaginary part.
  std::vector<double> x;
  std::int64_t n = 0;                ///< order of A
  std::vector<SolveStep> steps;      ///< in the order they were tried; the last one gave the answer
  std::vector<SolveColumn> columns;  ///< errors of each right-hand side's x
  bool converged = false;            ///< whether every x was accepted
  double norm_a = 0;                 ///< ||A||, the infinity norm
  /// ||A|| ||A^-1|| of the scaled matrix in the infinity norm, estimated (N. J. Higham, F. Tisseur,
  /// SIAM J. Matrix Anal. Appl. 21, 2000). NaN where it was not asked for, infinity where it is too
  /// large to estimate.
  double condition = 0;
  /// Whether `condition` is a lower bound only, because the factors are too inaccurate for an
  /// estimate.
  bool condition_at_least = false;
  bool equilibrated = false;  ///< whether any scale differs from 1
  double load_seconds = 0;    ///< getting A: computing, reading or distributing it
  double seconds = 0;         ///< finding the scales of A, and factors and refinement of all steps
  double check_seconds = 0;   ///< measuring the errors of x, condition number and bounds
  /// Why x may have no correct digit, or why its error is not proven where that was asked for, in
  /// one line; empty: there is no such doubt. Estimated bounds are at hand for every x only if the
  /// options ask for them.
  std::string doubt;
  std::vector<std::string> notes;  ///< other warnings
  RunOptions chosen;               ///< of the first step: the options with Speedwell's choices
  std::string reason;              ///< why the first step's precision was chosen; empty if given
  std::string device;              ///< description of rank 0's device
  std::string fp64_products;       ///< of rank 0's GPU: native or emulated, and by which settings
  std::int64_t panel_width = 0;    ///< columns of a step of the factorization
  SolveMemory memory;              ///< planned and used
  Accuracy accuracy = Accuracy::backward;  ///< what was refined: backward, forward or certified
  SolveProof proof;                        ///< with Accuracy::certified
  /// Of an automatic accuracy: the measured cost by which it was chosen; empty where it was given,
  /// or no cost was looked at, and it is backward.
  std::string accuracy_reason;
  /// Seed of the random vectors with which A and x were judged: SolveOptions::probe_seed, or the
  /// one that stands for 0.
  std::uint64_t probe_seed = 0;

  /// @return The precision of the last step, which gave the answer.
  Precision precision() const {
    return steps.empty() ? Precision::automatic : steps.back().precision;
  }
};

/// A is singular: a pivot of its FP64 LU is exactly zero.
class SPEEDWELL_API SingularError : public Error {
 public:
  /// @param words what went wrong, in one line
  /// @param pivot as pivot() returns it
  SingularError(const std::string& words, std::int64_t pivot) : Error(words), pivot_(pivot) {}
  /// @return The 0-based index of the pivot; LAPACK's info is this plus one. It counts columns of
  /// A, as LAPACK's, also of a row-major A on one rank. Several ranks have the pivots of the scaled
  /// matrix that they factor alone: of a row-major A that is A^T, and what() then says so.
  std::int64_t pivot() const { return pivot_; }

 private:
  std::int64_t pivot_;
};

/// No step that was allowed gave an x that is accurate enough for every right-hand side, or some of
/// several right-hand sides have an Inf or NaN (SolveColumn::why).
class SPEEDWELL_API AccuracyError : public Error {
 public:
  /// @param words what went wrong, in one line
  /// @param best the best solution that was found, not null
  AccuracyError(const std::string& words, std::shared_ptr<const Solution> best)
      : Error(words), best_(std::move(best)) {}
  /// @return The best solution that was found, with its errors. SolveColumn::converged says which
  ///         right-hand sides are solved. x of one with an Inf or NaN is NaN; of another that is
  ///         not solved, the best that was found. Without usable factors there are steps, but no x.
  const Solution& best() const { return *best_; }

 private:
  std::shared_ptr<const Solution> best_;
};

}  // namespace speedwell
