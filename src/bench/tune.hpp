// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell tune`: finds the fastest tuning of one benchmark by timing short factorizations.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/tune_search.hpp"
#include "comm/communicator.hpp"
#include "io/profile.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// The outcome of tune(), equal on every rank.
struct TunedBenchmark {
  Setup setup;               ///< with the tuning of the table of defaults
  std::int64_t columns = 0;  ///< columns that each run timed
  std::vector<TuningTrial> trials;
  TuneOutcome outcome;
  ProfileEntry entry;  ///< the entry to add to a profile
};

/// Callbacks, on every rank: `begun` once before the first tuning is timed, then `compared` as in
/// search_tuning().
struct TuneProgress {
  std::function<void(const Setup& setup, std::int64_t columns)> begun;
  Compared compared;
};

/// Searches for about `seconds`, beginning with the table's tuning. Each run generates the matrix
/// and times some of its first columns, the same number for every tuning. Collective.
/// @param list if not empty, its values are timed in place of the search
/// @param options its nb, lookahead, chunk and time_target are ignored; if n is 0, the order is
///        chosen by `seconds`
/// @throws UsageError on every rank if no two tunings can be compared, since the time is too short
///         or the matrix too small; and what plan() throws
TunedBenchmark tune(const Communicator& all, const BenchmarkOptions& options, const TuneList& list,
                    double seconds, const TuneProgress& progress);

}  // namespace speedwell
