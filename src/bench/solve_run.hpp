// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmark's system, solved as a user's own.
#pragma once

#include "bench/comparison.hpp"
#include "comm/communicator.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// What lupine::solve is called with in a setup, which is that of its first step.
SolveOptions solve_options(const Setup& setup);

/// Holds A of the setup's benchmark in FP64, as lupine::solve() does, solves, and verifies with A
/// generated anew. The turn's time is of scales, factorization and refinement. Collective.
/// @throws UsageError, AgreedFault: on every rank alike
Turn solve_run(const Communicator& all, const Setup& setup);

}  // namespace lupine
