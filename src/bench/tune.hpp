// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What `lupine tune` does: finds the tuning of one benchmark on short factorizations.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/tune_search.hpp"
#include "comm/communicator.hpp"
#include "io/profile.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// Equal on every rank.
struct TunedBenchmark {
  Setup setup;               ///< with the table's values
  std::int64_t columns = 0;  ///< that a run timed
  std::vector<TuningTrial> trials;
  TuneOutcome outcome;
  ProfileEntry entry;  ///< what a profile should know of it
};

/// Called on every rank: once before the first run, then as search_tuning says.
struct TuneProgress {
  std::function<void(const Setup& setup, std::int64_t columns)> begun;
  Compared compared;
};

/// Searches around the table's values for about `seconds`. Every run generates the matrix and times
/// some of its first columns, the same number of them for every tuning. Collective.
/// @param list where not empty: what is timed in place of the search
/// @param options nb, lookahead and chunk as well as the time target are this function's; n = 0: as
///        large as the time allows
/// @throws UsageError on every rank, where nothing can be compared: the time is too short, or the
///         matrix too small; and as `plan`
TunedBenchmark tune(const Communicator& all, const BenchmarkOptions& options, const TuneList& list,
                    double seconds, const TuneProgress& progress);

}  // namespace lupine
