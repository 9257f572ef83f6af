// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The search for the fastest tuning, by measurements that take time and are not exact. Pure: the
/// caller gives the function that measures, and the clock.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "core/tuning.hpp"

namespace speedwell {

/// The tunings among which the search chooses.
struct TuneSpace {
  std::int64_t columns = 1;  ///< columns of a rank: a chunk of this size or more is the same as all
  std::function<bool(const Tuning& tuning)> allowed;  ///< whether a tuning can be measured
};

/// A comparison of a tuning with the best one so far.
struct TuningTrial {
  Tuning tuning;
  double rate = 0;      ///< operations a second
  double against = 0;   ///< operations a second of the best tuning so far; 0 for the first run
  bool better = false;  ///< whether `tuning` becomes the best one so far
};

struct TuneOutcome {
  Tuning best;
  double rate = 0;            ///< operations a second of `best`
  double default_rate = 0;    ///< operations a second of the tuning that the search began with
  int trials = 0;             ///< tunings tried after `start`; 0: no time, or none to try
  bool complete = true;       ///< false: the time was over before everything was tried
  double seconds_needed = 0;  ///< time that a first trial needs, estimated from the first run
};

/// A difference between two rates up to this part counts as chance.
constexpr double tune_margin = 0.015;

/// Measures one run with a tuning, in operations a second.
using MeasureRate = std::function<double(const Tuning& tuning)>;
/// Called after the first run, and after every trial.
using Compared = std::function<void(const TuningTrial& trial)>;

/// Values to time in place of a search.
struct TuneList {
  std::vector<std::int64_t> nb;
  std::vector<std::int64_t> chunk;

  bool empty() const { return nb.empty() && chunk.empty(); }
};

/// Changes one value of the best tuning so far at a time: nb to the two below and the two above
/// among 32, 64, 96, 128, 192, 256, ...; the look-ahead; the chunk to the two below and the two
/// above among 256, 512, ... and all columns; again until none is better.
/// A candidate is timed once. If it is faster than the best by more than tune_margin, both are
/// timed again, and it becomes the best if it is so again. At the end the best and `start` are
/// timed in the same way, and `start` is the outcome unless the best wins. With a list, `start` is
/// timed with each nb of it, then the fastest nb with each chunk of it, once each. Tunings that the
/// space does not allow are left out. No trial begins that would end after `deadline` if its runs
/// took as long as the longest run so far; the first run takes place in any case.
TuneOutcome search_tuning(const Tuning& start, const TuneList& list, const TuneSpace& space,
                          const MeasureRate& measure, const Clock& clock, double deadline,
                          const Compared& compared = {});

}  // namespace speedwell
