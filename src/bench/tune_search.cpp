// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tune_search.hpp"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

#include "bench/neighbours.hpp"

namespace speedwell {

namespace {

constexpr int rounds = 2;
constexpr int runs_of_comparison = 2 * rounds;
// How many neighbours that are not better a climb goes past: a block size that suits n badly may be
// slower than its smaller and its larger neighbour.
constexpr int neighbours_passed = 1;

enum class Direction { up, down };

/// The next value above or below `value` in the series; nothing at its end.
template <class T>
std::optional<T> next(const std::vector<T>& series, T value, Direction direction) {
  const bool up = direction == Direction::up;
  const std::vector<T> found = neighbours(series, value, up ? 0 : 1, up ? 1 : 0);
  return found.empty() ? std::nullopt : std::optional(found.front());
}

std::optional<Tuning> move_nb(Tuning tuning, Direction direction, const TuneSpace&) {
  const auto nb = next(block_sizes(std::int64_t{1} << 40), tuning.nb, direction);
  if (nb) tuning.nb = *nb;
  return nb ? std::optional(tuning) : std::nullopt;
}

std::optional<Tuning> move_lookahead(Tuning tuning, Direction direction, const TuneSpace&) {
  const auto lookahead = next({0, 1}, tuning.lookahead, direction);
  if (lookahead) tuning.lookahead = *lookahead;
  return lookahead ? std::optional(tuning) : std::nullopt;
}

std::optional<Tuning> move_chunk(Tuning tuning, Direction direction, const TuneSpace& space) {
  constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  const bool every = tuning.chunk == 0 || tuning.chunk >= space.columns;
  const auto chunk = next(chunk_sizes(space.columns, all), every ? all : tuning.chunk, direction);
  if (chunk) tuning.chunk = *chunk == all ? 0 : *chunk;
  return chunk ? std::optional(tuning) : std::nullopt;
}

constexpr std::array moves{move_nb, move_lookahead, move_chunk};

class Search {
 public:
  Search(const Tuning& start, const TuneSpace& space, const MeasureRate& measure,
         const Clock& clock, double deadline, const Compared& compared)
      : start_(start),
        space_(space),
        measure_(measure),
        clock_(clock),
        deadline_(deadline),
        compared_(compared) {}

  TuneOutcome run() {
    begin();
    climb_all();
    confirm();
    return outcome_;
  }

  TuneOutcome run(const TuneList& list) {
    begin();
    for (const std::int64_t nb : list.nb) try_once({nb, start_.lookahead, start_.chunk});
    for (const std::int64_t chunk : list.chunk)
      try_once({outcome_.best.nb, start_.lookahead, chunk});
    return outcome_;
  }

 private:
  void begin() {
    known_.push_back(start_);
    outcome_.best = start_;
    outcome_.rate = outcome_.default_rate = timed(start_);
    // Runs of two comparisons: of the first neighbour, and of the best with `start` at the end.
    outcome_.seconds_needed = 2 * runs_of_comparison * longest_;
    outcome_.complete = true;
    tell({start_, outcome_.rate, 0, false});
  }

  void try_once(const Tuning& tuning) {
    if (is_known(tuning) || !space_.allowed(tuning)) return;
    if (clock_.now() + longest_ > deadline_) {
      outcome_.complete = false;
      return;
    }
    known_.push_back(tuning);
    const double rate = timed(tuning);
    ++outcome_.trials;
    const TuningTrial trial{tuning, rate, outcome_.rate, rate > (1 + tune_margin) * outcome_.rate};
    tell(trial);
    if (!trial.better) return;
    outcome_.best = tuning;
    outcome_.rate = rate;
  }

  using Move = decltype(moves)::value_type;

  double timed(const Tuning& tuning) {
    const double begin = clock_.now();
    const double rate = measure_(tuning);
    longest_ = std::max(longest_, clock_.now() - begin);
    return rate;
  }

  void tell(const TuningTrial& trial) const {
    if (compared_) compared_(trial);
  }

  void climb_all() {
    for (bool moved = true; moved && outcome_.complete;) {
      moved = false;
      for (const Move move : moves)
        for (const Direction direction : {Direction::up, Direction::down})
          if (climb(move, direction)) {
            moved = true;
            break;  // the other direction leads back to tunings that are known
          }
    }
  }

  /// Tries the neighbours in one direction as long as they are better, going past
  /// neighbours_passed that are not. Returns whether any was better.
  bool climb(Move move, Direction direction) {
    bool moved = false;
    Tuning at = outcome_.best;
    for (int passed = 0; passed <= neighbours_passed;) {
      const std::optional<Tuning> next = move(at, direction, space_);
      if (!next || !space_.allowed(*next)) break;
      at = *next;
      const std::optional<bool> better = try_out(at);
      if (!better) break;
      passed = *better ? 0 : passed + 1;
      moved = moved || *better;
    }
    return moved;
  }

  /// Compares a tuning with the best one, which it replaces if it is better. Returns whether it is,
  /// or nothing if the time does not suffice to compare.
  std::optional<bool> try_out(const Tuning& tuning) {
    if (is_known(tuning)) return false;
    if (!time_for_comparison()) {
      outcome_.complete = false;
      return std::nullopt;
    }
    known_.push_back(tuning);
    const TuningTrial trial = compare(tuning, outcome_.best);
    ++outcome_.trials;
    tell(trial);
    if (trial.better) outcome_.best = tuning;
    return trial.better;
  }

  bool is_known(const Tuning& tuning) const {
    return std::find(known_.begin(), known_.end(), tuning) != known_.end();
  }

  // There is time for a comparison, and for the last one with `start`.
  bool time_for_comparison() const {
    return clock_.now() + 2 * runs_of_comparison * longest_ <= deadline_;
  }

  // The order of the two runs changes from round to round, so that a machine that becomes slower
  // favours neither tuning.
  TuningTrial compare(const Tuning& tuning, const Tuning& other) {
    TuningTrial c{tuning, 0, 0, true};
    for (int round = 0; round < rounds && c.better; ++round) {
      const bool first = round % 2 == 0;
      const double before = first ? timed(tuning) : timed(other);
      const double after = first ? timed(other) : timed(tuning);
      const double rate = first ? before : after;
      const double against = first ? after : before;
      c.rate = std::max(c.rate, rate);
      c.against = std::max(c.against, against);
      c.better = rate > against;
    }
    c.better = c.better && c.rate > (1 + tune_margin) * c.against;
    return c;
  }

  // Compares the best with `start`: the small gains that led to it may all have been chance.
  void confirm() {
    if (outcome_.best == start_) return;
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

TuneOutcome time_tunings(const Tuning& start, const TuneList& list, const TuneSpace& space,
                         const MeasureRate& measure, const Clock& clock, double deadline,
                         const Compared& compared) {
  return Search(start, space, measure, clock, deadline, compared).run(list);
}

TuneOutcome search_tuning(const Tuning& start, const TuneSpace& space, const MeasureRate& measure,
                          const Clock& clock, double deadline, const Compared& compared) {
  return Search(start, space, measure, clock, deadline, compared).run();
}

}  // namespace speedwell
