// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solutions of several right-hand sides with given factors, and their errors. Formulas and
/// sources: docs/numerics.md.
#pragma once

#include <lupine/solve.hpp>

#include <optional>
#include <vector>

#include "core/clock.hpp"
#include "refine/refinement.hpp"
#include "solve/equilibration.hpp"
#include "solve/factored_system.hpp"

namespace lupine {

/// The solution of one right-hand side, with its errors.
struct Answer {
  SolveColumn column;
  double forecast = 0;  ///< RefineOutcome::forecast
  // Of the scaled system, for the bound of the forward error.
  Vector weight{};           ///< f of answers(), whole; empty with many unless all is asked for
  double largest_f = 0;      ///< ||f||
  std::optional<int> top{};  ///< of the exponent of ||C y||; nothing if y = 0
  double size = 0;           ///< ||C y|| 2^-top
  double x_norm = 0;         ///< ||x||
};

/// The solutions of some right-hand sides.
struct Answers {
  MultiVector x;  ///< of the given system, whole
  MultiVector y;  ///< of the scaled system, distributed as its solutions
  std::vector<Answer> all;
};

/// What is asked for by the options of a solve.
struct AnswerOptions {
  RefineOptions refine;                   ///< whose stop rule is componentwise
  Precision precision = Precision::fp64;  ///< of the factors
  ConditionCheck condition = ConditionCheck::on;
  /// Whether there are more than Device::few_vectors right-hand sides in all.
  bool many = false;
};

/// Seconds of this rank.
struct AnswerTimes {
  double refine = 0;  ///< solves and refinement
  double checks = 0;  ///< everything else
};

/// Solves for each b and measures the errors of x. Below, A, R and C are the matrix of `factored`,
/// which may be a transpose, and the scales of its rows and columns. x = C y 2^shift, where y
/// solves (R A C) y = R b 2^-shift, with a shift for each b. An x is accepted (column.converged) if
/// its componentwise backward error is at most the tolerance; with FP64 factors and the default
/// tolerance it suffices that the normwise backward error of the scaled system is, since LU in FP64
/// guarantees no more, as in LAPACK's dgesvx. With FP64 factors, the default tolerance and many
/// right-hand sides, the normwise errors are estimated by a ResidualSketch, and only those x are
/// refined that this does not accept.
///
/// Unless options.condition is off, accepted x get estimated bounds of the forward error
/// ||x - x*|| / ||x||, where x* is the exact solution and norms are infinity norms; others have
/// NaN. As in LAPACK's dgerfs,
///     || C |(R A C)^-1| f || / ||C y||,  f = |r| + (n + 1) eps (|R A C| |y| + |R b|);
/// with many right-hand sides, unless options.condition is full,
///     ||C|| ||(R A C)^-1|| ||f|| / ||C y||.
/// Infinity where only a lower bound of the condition number is possible, which is estimated too
/// where it is not known. Collective.
/// @param scales of the matrix of `factored`
/// @param b whole, as the user gave them, finite
Answers answers(FactoredSystem& factored, const Equilibration& scales, const MultiVector& b,
                const AnswerOptions& options, const Clock& clock, AnswerTimes& times);

}  // namespace lupine
