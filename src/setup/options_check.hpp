// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of options, by their values alone.
#pragma once

#include <speedwell/options.hpp>

namespace speedwell {

/// Checks the range of every option, `run` included. @throws UsageError
void check_ranges(const SolveOptions& options);

/// @throws UsageError unless every option is in range and the grid fits this number of ranks
void check_run_options(const RunOptions& options, int ranks);

/// Checks the options of a benchmark.
/// @throws UsageError unless every option is in range and the matrix allows the pivoting
void check_problem(const BenchmarkOptions& options);

}  // namespace speedwell
