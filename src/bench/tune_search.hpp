// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The search for the fastest tuning by measurements that take time and are not exact. Pure: what
/// measures, and what time it is, are the caller's.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "core/tuning.hpp"

namespace lupine {

/// Where the search may go.
struct TuneSpace {
  std::int64_t columns = 1;                           ///< of a rank: chunks of as many are all
  std::function<bool(const Tuning& tuning)> allowed;  ///< whether it can be measured
};

/// A tuning beside the best one so far, both measured in turn.
struct TuningTrial {
  Tuning tuning;
  double rate = 0;     ///< operations a second, the best of its runs
  double against = 0;  ///< the same of the best tuning so far; 0: the first, beside nothing
  bool better = false;
};

struct TuneOutcome {
  Tuning best;
  double rate = 0;            ///< of `best`
  double default_rate = 0;    ///< of the tuning that the search began with, beside it
  int trials = 0;             ///< 0: the time did not suffice for one
  bool complete = false;      ///< false: there was more to try when the time was over
  double seconds_needed = 0;  ///< for the first trial, by the first run
};

/// Faster by no more than this part may be chance.
constexpr double tune_margin = 0.015;

/// One run; operations a second.
using MeasureRate = std::function<double(const Tuning& tuning)>;
/// Called after every trial, and after the first run.
using Compared = std::function<void(const TuningTrial& trial)>;

/// Values to time instead of a search.
struct TuneList {
  std::vector<std::int64_t> nb;
  std::vector<std::int64_t> chunk;

  bool empty() const { return nb.empty() && chunk.empty(); }
};

/// Times `start`, each nb of the list in its place, then each chunk beside the fastest nb, once
/// each; what the space does not allow is left out. The best is the fastest by more than
/// tune_margin. None begins that, by the longest run so far, would end behind `deadline`.
TuneOutcome time_tunings(const Tuning& start, const TuneList& list, const TuneSpace& space,
                         const MeasureRate& measure, const Clock& clock, double deadline,
                         const Compared& compared = {});

/// Goes from `start` to neighbours of the best tuning so far, one value at a time: nb along
/// 32, 64, 96, 128, 192, 256, ..., look-ahead from 0 to 3, chunks of 256, 512, ... columns and all.
/// On its way it passes one that is not better.
/// A neighbour takes the place of the best if it is faster in each of two rounds, in turn with it,
/// and by more than tune_margin. What was found so is compared with `start` once more, and given up
/// unless it is better than that too. No trial begins that, by the longest run so far, would
/// end behind `deadline`; the first run takes place in any case.
TuneOutcome search_tuning(const Tuning& start, const TuneSpace& space, const MeasureRate& measure,
                          const Clock& clock, double deadline, const Compared& compared = {});

}  // namespace lupine
