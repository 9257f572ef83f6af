// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solutions of several right-hand sides with given factors, and their errors. Formulas and
/// sources: docs/numerics.md.
#pragma once

#include <speedwell/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "refine/certificate.hpp"
#include "refine/refinement.hpp"
#include "solve/factored_system.hpp"
#include "solve/scaled_matrix.hpp"

namespace speedwell {

/// What a residual may be at most, with its rounding errors: f of answers(), in the scaled system.
struct ResidualBound {
  Vector weight{};       ///< f, the rank's part
  double largest_f = 0;  ///< ||f||
};

/// What bounds the error of an x that was refined to its last digit: the residual of x + low, its
/// rounding to x, and what is left of the error of x + low.
struct SharpAnswer : ResidualBound {
  double norm_error = 0;      ///< RefineOutcome::norm_error
  double entry_error = 0;     ///< RefineOutcome::entry_error
  double rounding = 0;        ///< ||low|| / ||x||
  double entry_rounding = 0;  ///< the largest |low_i| / |x_i|
  Vector of_entries{};        ///< 1 / |y_i|, whole; empty where one is too large, or not wanted
};

/// The solution of one right-hand side, with its errors.
struct Answer : ResidualBound {
  SolveColumn column;
  double forecast = 0;    ///< RefineOutcome::forecast
  bool forward = false;   ///< RefineOutcome::forward
  bool sketched = false;  ///< whether ||f|| was estimated, and f is not known
  // Of the scaled system, for the bound of the forward error.
  std::optional<int> top{};  ///< of the exponent of ||C y||; nothing if y = 0
  double size = 0;           ///< ||C y|| 2^-top
  double y_norm = 0;         ///< ||y||
  double x_norm = 0;         ///< ||x||
  /// ||x - C y 2^shift|| / ||x||: what an x has lost by underflow; infinite where x is 0 then.
  double rounding = 0;
  double next = 0;  ///< ||C d|| 2^-top, where y + d is almost exact; 0 where r is next to nothing
  bool underflows = false;  ///< whether an entry of x has lost digits, or is 0, by underflow
  /// Where RefineOutcome::norm_error is small.
  std::optional<SharpAnswer> sharp{};

  bool is_sharp() const { return sharp.has_value(); }
  const ResidualBound& residual_bound() const {
    return sharp ? static_cast<const ResidualBound&>(*sharp) : *this;
  }
};

/// The solutions of some right-hand sides.
struct Answers {
  MultiVector x;  ///< of the given system, whole
  MultiVector y;  ///< of the scaled system, distributed as its solutions
  std::vector<Answer> all;
  /// Of x: an x that has another one by now has changed in memory.
  VectorChecksums x_made;
  /// What has changed in a rank's memory while it was solved, so that x holds for something else:
  /// "b has changed in memory since it was read", and the like; empty: nothing. Equal on every
  /// rank.
  std::string changed;
};

/// What is asked for by the options of a solve.
struct AnswerOptions {
  RefineOptions refine;  ///< whose stop rule is componentwise; without weights
  /// Whether, with refine.forward, no x is accepted that was not refined to its last digit.
  bool sharp = false;
  Precision precision = Precision::fp64;  ///< of the factors
  ConditionCheck condition = ConditionCheck::on;
  /// Whether there are more than Device::few_vectors right-hand sides in all.
  bool many = false;
  /// With refine.forward: proofs for the matrix of the answers, or of its transpose's system, made
  /// when they are first needed. Accepted x then get proven bounds or none. Empty: estimated ones.
  std::function<Certificate&()> certificate{};
  /// Of b, as it was read.
  VectorChecksums b_read{};
};

/// Seconds of this rank.
struct AnswerTimes {
  double refine = 0;   ///< solves and refinement
  double forward = 0;  ///< RefineTimes::forward
  double checks = 0;   ///< everything else
  double proofs = 0;   ///< of that, proofs
};

/// Solves for each b and measures the errors of x. Below, A, R and C are the matrix of `factored`,
/// which may be a transpose, and the scales of its rows and columns. x = C y 2^shift, where y
/// solves (R A C) y = R b 2^-shift, with a shift for each b. Where entries of x underflow, x is
/// accepted by the y that was found, and y becomes the one that x is exactly: of that are all
/// errors and bounds, and x is never `accurate`. An x is accepted (column.converged) if its
/// componentwise backward error is at most the tolerance; with FP64 factors and the default
/// tolerance it suffices that the normwise backward error of the scaled system is. With FP64
/// factors whose entries have not grown, the default tolerance and many right-hand sides, the
/// normwise errors are estimated by a ResidualSketch, and only those x are refined that this does
/// not accept.
///
/// Unless options.condition is off, accepted x get estimated bounds of the forward error
/// ||x - x*|| / ||x||, where x* is the exact solution and norms are infinity norms; others have
/// NaN. As in LAPACK's dgerfs, with what underflow may have lost,
///     || C |(R A C)^-1| f || / ||C y||,  f = |r| + (n + 1) (eps (|R A C| |y| + |R b|) +
///     underflow);
/// with many right-hand sides, unless options.condition is full or this leaves no digit,
///     ||C|| ||(R A C)^-1|| ||f|| / ||C y||.
/// With refine.forward, an x whose corrections have become small enough while the condition number
/// is below 1 / (10 n eps) is `accurate`. Its bounds are those of its rounding and of the error of
/// x + low: the larger one of RefineOutcome::norm_error and the formula above with
///     f = |r| + System::extended_error() (|R A C| |y| + |R b|) + (n + 1) underflow,
/// r being the residual of x + low; and likewise of its entries, unless the bounds are by norms.
/// With a certificate, both bounds are proven (docs/numerics.md, 4.7), or NaN.
/// Infinity where only a lower bound of the condition number is possible, which is estimated too
/// where it is not known, and for an x that has underflowed to 0. Collective.
/// @param matrix whose system, or its transpose's, `factored` has
/// @param op no: that of the matrix, yes: its transpose's
/// @param b whole, as the user gave them, finite
Answers answers(FactoredSystem& factored, const ScaledMatrix& matrix, Transpose op,
                const MultiVector& b, const AnswerOptions& options, AnswerTimes& times);

/// Whether entries have grown more in an LU than they do without a structure that makes them grow;
/// false where it was not measured.
inline bool has_grown(double growth, std::int64_t n) {
  return growth > std::max(100.0, static_cast<double>(n));
}
/// Whether it was measured that they have not.
inline bool is_tame(double growth, std::int64_t n) {
  return !std::isnan(growth) && !has_grown(growth, n);
}

/// Why x may have no correct digit, in one line; empty: there is no such doubt. So it is where A is
/// singular to working precision, where the factors are too inaccurate for a bound of any error,
/// and where the bound of an x's error is 1/2 or more. Collective.
/// @param columns the errors of the solutions; those that are not converged are not looked at
std::string doubt(FactoredSystem& factored, std::span<const SolveColumn> columns);

/// The error where no step has given what was asked for: what each step says, and each side with an
/// Inf or NaN.
/// @param best with its steps
AccuracyError no_solution(Solution best);

}  // namespace speedwell
