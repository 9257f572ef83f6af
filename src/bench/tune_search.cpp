// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tune_search.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

namespace speedwell {

namespace {

// A value that suits n badly may be slower than both of its neighbours: so two on each side.
constexpr std::ptrdiff_t reach = 2;

/// The values of an ascending series on both sides of the place of `center`, without it.
std::vector<std::int64_t> near(const std::vector<std::int64_t>& series, std::int64_t center) {
  const auto [first, last] = std::equal_range(series.begin(), series.end(), center);
  std::vector<std::int64_t> all(first - std::min(reach, first - series.begin()), first);
  all.insert(all.end(), last, last + std::min(reach, series.end() - last));
  return all;
}

std::vector<Tuning> block_sizes(const Tuning& best, const TuneSpace&) {
  constexpr std::int64_t most = std::int64_t{1} << 40;
  std::vector<std::int64_t> series{32};
  for (std::int64_t power = 64; power <= most; power *= 2)
    series.insert(series.end(), {power, power + power / 2});
  std::vector<Tuning> all;
  for (const std::int64_t nb : near(series, best.nb))
    all.push_back({nb, best.lookahead, best.chunk});
  return all;
}

std::vector<Tuning> lookaheads(const Tuning& best, const TuneSpace&) {
  return {{best.nb, best.lookahead == 0 ? 1 : 0, best.chunk}};
}

std::vector<Tuning> chunks(const Tuning& best, const TuneSpace& space) {
  constexpr std::int64_t whole = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> series;
  for (std::int64_t chunk = 256; chunk < space.columns; chunk *= 2) series.push_back(chunk);
  series.push_back(whole);
  const bool is_whole = best.chunk == 0 || best.chunk >= space.columns;
  std::vector<Tuning> all;
  for (const std::int64_t chunk : near(series, is_whole ? whole : best.chunk))
    all.push_back({best.nb, best.lookahead, chunk == whole ? 0 : chunk});
  return all;
}

constexpr std::array candidates{block_sizes, lookaheads, chunks};

class Search {
 public:
  Search(const Tuning& start, const TuneSpace& space, const MeasureRate& measure,
         const Clock& clock, double deadline, const Compared& compared)
      : start_(start),
        space_(space),
        measure_(measure),
        clock_(clock),
        deadline_(deadline),
        compared_(compared) {
    known_.push_back(start_);
    outcome_.best = start_;
    outcome_.rate = outcome_.default_rate = timed(start_);
    outcome_.seconds_needed = (runs_of_trial + runs_of_end) * longest_;
    tell({start_, outcome_.rate, 0, false});
  }

  TuneOutcome run() {
    for (Tuning before = start_;; before = outcome_.best) {
      for (const auto& of : candidates)
        for (const Tuning& tuning : of(outcome_.best, space_))
          try_out(tuning, runs_of_trial, runs_of_end);
      if (outcome_.best == before || !outcome_.complete) break;
    }
    if (outcome_.best != start_) confirm();
    return outcome_;
  }

  TuneOutcome run(const TuneList& list) {
    for (const std::int64_t nb : list.nb) try_out({nb, start_.lookahead, start_.chunk}, 1, 0);
    const std::int64_t nb = outcome_.best.nb;
    for (const std::int64_t chunk : list.chunk) try_out({nb, start_.lookahead, chunk}, 1, 0);
    return outcome_;
  }

 private:
  static constexpr int runs_of_trial = 3;  // at most
  static constexpr int runs_of_end = 2;

  double timed(const Tuning& tuning) {
    const double begin = clock_.now();
    const double rate = measure_(tuning);
    longest_ = std::max(longest_, clock_.now() - begin);
    return rate;
  }

  void tell(const TuningTrial& trial) const {
    if (compared_) compared_(trial);
  }

  static bool is_better(const TuningTrial& trial) {
    return trial.rate > (1 + tune_margin) * trial.against;
  }

  /// Times both. A machine that becomes slower favours `other`, which is first.
  TuningTrial compare(const Tuning& tuning, const Tuning& other) {
    const double against = timed(other);
    TuningTrial trial{tuning, timed(tuning), against, false};
    trial.better = is_better(trial);
    return trial;
  }

  /// Compares a tuning with the best one, which it replaces if it is better.
  /// @param runs that it may take @param reserved runs for which time must be left
  void try_out(const Tuning& tuning, int runs, int reserved) {
    if (std::ranges::count(known_, tuning) > 0 || !space_.allowed(tuning)) return;
    if (clock_.now() + (runs + reserved) * longest_ > deadline_) {
      outcome_.complete = false;
      return;
    }
    known_.push_back(tuning);
    ++outcome_.trials;
    TuningTrial trial{tuning, timed(tuning), outcome_.rate, false};
    trial.better = is_better(trial);
    if (trial.better && runs > 1) trial = compare(tuning, outcome_.best);
    tell(trial);
    if (!trial.better) return;
    outcome_.best = tuning;
    outcome_.rate = trial.rate;
  }

  // The small gains that led to the best may all have been chance.
  void confirm() {
    const TuningTrial whole = compare(outcome_.best, start_);
    tell(whole);
    outcome_.default_rate = whole.against;
    outcome_.rate = whole.better ? whole.rate : whole.against;
    if (!whole.better) outcome_.best = start_;
  }

  Tuning start_;
  const TuneSpace& space_;
  const MeasureRate& measure_;
  const Clock& clock_;
  double deadline_;
  const Compared& compared_;
  double longest_ = 0;
  std::vector<Tuning> known_;
  TuneOutcome outcome_;
};

}  // namespace

TuneOutcome search_tuning(const Tuning& start, const TuneList& list, const TuneSpace& space,
                          const MeasureRate& measure, const Clock& clock, double deadline,
                          const Compared& compared) {
  Search search(start, space, measure, clock, deadline, compared);
  return list.empty() ? search.run() : search.run(list);
}

}  // namespace speedwell
