// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What further corrections would take, and whether they are worth it. Formulas: docs/numerics.md,
/// section 4.4.
#pragma once

#include <span>

#include "comm/communicator.hpp"
#include "refine/refinement.hpp"

namespace speedwell {

/// The times of a refinement so far, and forecasts by them. All results but the times are equal on
/// every rank.
class Forecast {
 public:
  /// @param worth RefineOptions::worth @param tolerance of the error by the stop rule
  Forecast(const Communicator& all, double worth, double tolerance)
      : all_(all), worth_(worth), tolerance_(tolerance) {}

  RefineTimes times;
  int solves = 0;  ///< each of all right-hand sides that were left

  /// Seconds so far, of the slowest rank. Collective.
  double seconds() const { return slowest(times.solves + times.residuals); }
  double slowest(double seconds) const { return all_.all_reduce(seconds, Reduction::max); }
  /// The steps that take the error to the tolerance if each multiplies it by `ratio`.
  double steps_needed(double ratio, double error) const;
  /// The solves that take as long as the alternative. Collective.
  double worthwhile_steps() const;
  /// The steps that GMRES still needs, by the rate of its last ones; 0 while they are too few to
  /// tell. @param most worthwhile_steps() @param error of x before the cycle
  double steps_of_cycle(std::span<const double> residuals, double most, double error) const;

 private:
  const Communicator& all_;
  double worth_;
  double tolerance_;
};

}  // namespace speedwell
