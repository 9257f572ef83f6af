// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The steps of a factorization that are timed to compare tunings.
#pragma once

#include <cstdint>
#include <optional>

#include "grid/step.hpp"

namespace speedwell {

/// A window of steps, from the end of one step to the end of another. In the window as many panels
/// are factored as are applied; before it, while the look-ahead fills, more are factored.
struct StepWindow {
  std::int64_t first = 0;  ///< the window begins at the end of this step
  std::int64_t last = 0;   ///< the window ends at the end of this step
  double operations = 0;   ///< by how much 2/3 m^3 falls, m being the trailing matrix's order
};

/// The shortest window whose applied panels have at least `columns` columns together.
/// @param overlaps whether step k's end waits only for the update of step k - 1 (Device::overlaps)
/// @pre columns >= 1
/// @return nothing if the matrix has too few steps
std::optional<StepWindow> step_window(const StepSequence& steps, std::int64_t n, int lookahead,
                                      bool overlaps, std::int64_t columns);

}  // namespace speedwell
