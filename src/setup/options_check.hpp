// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of the ranges of options, by their values alone.
#pragma once

#include <lupine/options.hpp>

namespace lupine {

constexpr int largest_lookahead = 1;
constexpr int largest_threads = 4096;
constexpr int largest_reserve = 64;
constexpr int largest_leaf = 4096;  // HPL: NBMIN
constexpr int largest_parts = 64;   // HPL: NDIV

/// @throws UsageError unless every option is in range and the grid fits this number of ranks
void check_run_options(const RunOptions& options, int ranks);

/// Checks the options of a benchmark other than `options.run`.
/// @throws UsageError unless every option is in range and the matrix allows the pivoting
void check_problem(const BenchmarkOptions& options);

}  // namespace lupine
