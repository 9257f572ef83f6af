// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmark's system, solved by speedwell::solve() as if it were a user's.
#pragma once

#include "comm/communicator.hpp"
#include "compare/comparison.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// The options with which solve_run() calls speedwell::solve().
/// @param setup that of the solution's first step
SolveOptions solve_options(const Setup& setup);

/// Solves the system of the setup's benchmark by speedwell::solve(), which holds A in FP64, and
/// verifies x with A generated again. The turn's time is that of scaling, factorization and
/// refinement. Collective.
/// @param run whose meter is told of the stages
/// @throws UsageError, AgreedFault: the same one on every rank
Turn solve_run(const Communicator& all, const Setup& setup, const RunContext& run);

}  // namespace speedwell
