// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The part of a factorization's first steps that is timed to rank tunings.
#pragma once

#include <cstdint>
#include <optional>

#include "grid/step.hpp"

namespace lupine {

/// Between the ends of two steps as many panels are factored as are applied: what comes before,
/// while the look-ahead is filled, would flatter or harm it.
struct StepWindow {
  std::int64_t first = 0;  ///< timed from the end of this step
  std::int64_t last = 0;   ///< to the end of this one
  double operations = 0;   ///< 2/3 m^3, by how the order m of what is left changes meanwhile
  /// Panels factored meanwhile lie ahead of those applied, and so are shorter, the more the deeper
  /// the look-ahead; nothing is gained by that. What is missing, as a part of all panels factored
  /// from the first step on.
  double shorter = 0;
};

/// The window that eliminates `columns` columns, and what is missing to whole steps.
/// @param overlaps whether a step ends when the update that the step before gave is done
/// @pre columns >= 1
/// @return nothing if the matrix has too few steps
std::optional<StepWindow> step_window(const Plan& plan, std::int64_t n, int lookahead,
                                      bool overlaps, std::int64_t columns);

}  // namespace lupine
