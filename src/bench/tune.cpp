// SPDX-License-Identifier: BSD-3-Clause
#include "bench/tune.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <ctime>

#include "bench/benchmark_runner.hpp"
#include "core/numbers.hpp"
#include "io/text.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

/// A run times n / part_of_columns columns: enough for some steps, while the trailing matrix is
/// still nearly as large as A.
constexpr std::int64_t part_of_columns = 8;
/// An order is chosen such that there is time for this many runs. Each takes about a third of a
/// whole factorization: an eighth of the columns, those that fill the look-ahead, and generation.
constexpr double planned_runs = 40;
constexpr double part_of_factorization = 0.35;
/// The largest part of a run that generation should take; if it takes more, more columns are timed.
constexpr double most_generation = 1. / 3;

/// Rank 0's time on every rank, so that all ranks decide the same by it. now() is collective.
class CommonClock final : public Clock {
 public:
  explicit CommonClock(const Communicator& all) : all_(all) {}
  double now() const override {
    double now = own_.now();
    all_.broadcast(std::span(&now, 1), 0);
    return now;
  }

 private:
  const Communicator& all_;
  SteadyClock own_;
};

class Tuner {
 public:
  Tuner(const Communicator& all, const BenchmarkOptions& options, const TuneProgress& progress)
      : runner_(all.handle(), options), setup_(runner_.setup()), progress_(progress) {
    const LuPlan& lu = setup_.lu;
    start_ = {lu.nb, lu.lookahead, lu.chunk < lu.n ? lu.chunk : 0};
    columns_ = std::max<std::int64_t>(1, lu.n / part_of_columns);
    if (!runner_.retune(start_, columns_)) refuse_size();
  }

  TunedBenchmark search(const TuneList& list, const Clock& clock, double deadline) {
    const LuPlan& lu = setup_.lu;
    balance();
    if (progress_.begun) progress_.begun(setup_, columns_);
    // Blocks wider than the panels that fit in memory are left out: their steps would be cut into
    // panels of a width that was measured before.
    const TuneSpace space{
        ceil_div(lu.n, lu.grid.npcol), [this](const Tuning& tuning) {
          return runner_.retune(tuning, columns_) &&
                 (tuning.nb <= start_.nb || runner_.setup().lu.width == tuning.nb);
        }};
    const auto rate = [this](const Tuning& tuning) {
      runner_.retune(tuning, columns_);
      return runner_.first_steps(columns_).rate;
    };
    TunedBenchmark tuned{setup_, columns_, {}, {}, {}};
    const auto note = [&](const TuningTrial& trial) {
      tuned.trials.push_back(trial);
      if (progress_.compared) progress_.compared(trial);
    };
    tuned.outcome = search_tuning(start_, list, space, rate, clock, deadline, note);
    if (list.empty() && tuned.outcome.trials == 0 && tuned.outcome.complete) refuse_size();
    return tuned;
  }

 private:
  [[noreturn]] void refuse_size() const {
    throw UsageError(
        fmt::format("-N {} is too small to tune: it has too few blocks of {} columns; "
                    "allowed is a larger -N",
                    setup_.lu.n, setup_.lu.nb));
  }

  // A first run, not compared with any: it prepares kernels, and shows the time of generation, by
  // which the number of timed columns is chosen.
  void balance() {
    const FirstSteps first = runner_.first_steps(columns_);
    const double allowed = first.factorization * most_generation / (1 - most_generation);
    const double more = std::ceil(first.generation / std::max(allowed, 1e-9));
    const auto wanted = static_cast<std::int64_t>(std::min(more, 4.)) * columns_;
    if (wanted > columns_ && runner_.retune(start_, wanted)) columns_ = wanted;
  }

  BenchmarkRunner runner_;
  Setup setup_;
  const TuneProgress& progress_;
  Tuning start_;
  std::int64_t columns_ = 1;
};

/// The options with everything left open that tune() finds.
BenchmarkOptions opened(BenchmarkOptions options, double seconds) {
  options.run.nb = 0;
  options.run.lookahead = -1;
  options.run.chunk = 0;
  options.time_target = options.n == 0 ? seconds / (planned_runs * part_of_factorization) : 0;
  return options;
}

ProfileEntry entry_of(const Setup& setup, const TuneOutcome& outcome) {
  constexpr double giga = 1e9;
  return {profile_key(setup),
          setup.lu.n,
          outcome.best,
          outcome.rate / giga,
          outcome.default_rate / giga,
          utc_text(std::time(nullptr)),
          SPEEDWELL_REVISION};
}

}  // namespace

TunedBenchmark tune(const Communicator& all, const BenchmarkOptions& options, const TuneList& list,
                    double seconds, const TuneProgress& progress) {
  const CommonClock clock(all);
  const double begin = clock.now();
  Tuner tuner(all, opened(options, seconds), progress);
  TunedBenchmark tuned = tuner.search(list, clock, begin + seconds);
  if (list.empty() && tuned.outcome.trials == 0)
    throw UsageError(fmt::format(
        "--budget {:g} is too short to compare two tunings at -N {}, which takes about {:.2g} s; "
        "allowed is a longer one, or a smaller -N",
        seconds, tuned.setup.lu.n, tuned.outcome.seconds_needed + clock.now() - begin));
  tuned.entry = entry_of(tuned.setup, tuned.outcome);
  return tuned;
}

}  // namespace speedwell
