// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Ranges of options. Pure.
#pragma once

#include <lupine/options.hpp>

namespace lupine {

/// Panels that may be factored ahead: each takes two of the 60 messages in flight that panel
/// broadcasts allow.
constexpr int largest_lookahead = 28;
constexpr int largest_threads = 4096;
constexpr int largest_reserve = 64;
constexpr int largest_leaf = 4096;  // of a pivoted panel: NBMIN
constexpr int largest_parts = 64;   // NDIV

/// @throws UsageError unless the options are in range and go with this number of ranks
void check_run_options(const RunOptions& options, int ranks);

/// @throws UsageError unless what the options say beside those of the run is in range
void check_problem(const BenchmarkOptions& options);

}  // namespace lupine
