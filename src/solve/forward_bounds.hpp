// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Estimated bounds of the errors of solutions. Formulas: docs/numerics.md, section 5.5.
#pragma once

#include <functional>
#include <span>

#include "solve/answers.hpp"
#include "solve/equilibration.hpp"
#include "solve/factored_system.hpp"

namespace speedwell {

/// Makes f of some answers known, which are then no longer `sketched`. Collective.
using Weigh = std::function<void(std::span<Answer* const>)>;

/// Sets the forward bounds of the accepted answers. Collective.
/// @param scales those of the system
/// @param componentwise as in dgerfs. Else by norms; but where these leave no digit, answers get
///        the bounds of dgerfs, unless a doubt about one of them, or the condition number, is a
///        doubt about all
void set_forward_bounds(FactoredSystem& factored, const Equilibration& scales, Answers& answers,
                        bool componentwise, const Weigh& weigh);

}  // namespace speedwell
