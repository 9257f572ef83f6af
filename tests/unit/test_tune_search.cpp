// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <vector>

#include "bench/tune_search.hpp"
#include "catch.hpp"
#include "clocks.hpp"

namespace speedwell::test::tune_search_tests {
namespace {

/// A machine whose rate is a function of the tuning. Each of its runs takes a second.
class Machine {
 public:
  explicit Machine(std::function<double(const Tuning&)> rate) : rate_(std::move(rate)) {}

  TuneOutcome search(const Tuning& start, double seconds = 1e6, const TuneList& list = {}) {
    const double deadline = clock.time + seconds;
    return search_tuning(
        start, list, space,
        [this](const Tuning& tuning) {
          clock.time += run_seconds;
          ++runs;
          return rate_(tuning);
        },
        clock, deadline, [this](const TuningTrial& c) { told.push_back(c); });
  }

  test::SetClock clock{100};
  TuneSpace space{10000, [](const Tuning&) { return true; }};
  double run_seconds = 1;
  int runs = 0;
  std::vector<TuningTrial> told;

 private:
  std::function<double(const Tuning&)> rate_;
};

/// A rate that is highest at nb = 384, look-ahead 1 and chunks of 2048.
double bowl(const Tuning& t) {
  const auto away = [](double value, double best) { return std::pow(std::log2(value / best), 2); };
  const double chunk = t.chunk == 0 ? 10000 : static_cast<double>(t.chunk);
  return 1e9 * std::exp(-0.3 * away(static_cast<double>(t.nb), 384) - 0.1 * (1 - t.lookahead) -
                        0.1 * away(chunk, 2048));
}

constexpr Tuning bottom{384, 1, 2048};

}  // namespace

TEST_CASE("the search finds the best tuning of a smooth rate from any start") {
  for (const std::int64_t nb : {10, 32, 100, 384, 500, 1024, 4096})
    for (const int lookahead : {0, 1})
      for (const std::int64_t chunk : {0, 256, 2048, 8192}) {
        CAPTURE(nb, lookahead, chunk);
        Machine machine(bowl);
        const Tuning start{nb, lookahead, chunk};
        const TuneOutcome outcome = machine.search(start);
        CHECK(outcome.best == bottom);
        CHECK(outcome.complete);
        CHECK(outcome.rate == bowl(outcome.best));
        CHECK(outcome.default_rate == bowl(start));
      }
}

TEST_CASE("values of a list are timed once each, chunks with the fastest block size") {
  Machine machine(bowl);
  machine.space.allowed = [](const Tuning& t) { return t.nb != 768; };
  const Tuning start{128, 1, 0};
  const TuneOutcome outcome =
      machine.search(start, 1e6, {{256, 384, 512, 768}, {2048, 4096, 2048}});
  CHECK(outcome.best == Tuning{384, 1, 2048});
  CHECK(outcome.rate == bowl(outcome.best));
  CHECK(outcome.default_rate == bowl(start));
  CHECK((outcome.complete && outcome.trials == 5 && machine.runs == 6));
  CHECK(machine.told.size() == 6);
  CHECK((machine.told[3].tuning == Tuning{512, 1, 0} && !machine.told[3].better));
  CHECK(machine.told[3].against == bowl({384, 1, 0}));
}

TEST_CASE("a list ends when its time is over, but its first run takes place in any case") {
  for (const double seconds : {0., 1.5, 3.5}) {
    Machine machine(bowl);
    const TuneOutcome outcome = machine.search({128, 1, 0}, seconds, {{256, 384, 512, 640}, {}});
    CHECK_FALSE(outcome.complete);
    CHECK(machine.runs == std::max(1, static_cast<int>(seconds)));
  }
}

TEST_CASE("only the tuning that was found is compared again, with the start") {
  Machine machine(bowl);
  const TuneOutcome outcome = machine.search({1024, 1, 0});
  std::vector<Tuning> seen;
  for (const TuningTrial& c : machine.told) {
    if (&c != &machine.told.back()) CHECK(std::count(seen.begin(), seen.end(), c.tuning) == 0);
    seen.push_back(c.tuning);
  }
  CHECK(machine.told.back().tuning == outcome.best);
  CHECK(machine.told.front().against == 0);
  CHECK(outcome.trials + 2 == static_cast<int>(machine.told.size()));
}

TEST_CASE(
    "block sizes are multiples of 32, look-aheads 0 and 1, and the last chunk is all columns") {
  Machine machine([](const Tuning& t) {  // larger values are always faster
    return static_cast<double>(t.nb + t.lookahead + (t.chunk == 0 ? 10000 : t.chunk)) * 1e6;
  });
  machine.space.allowed = [](const Tuning& t) { return t.nb <= 200; };
  const TuneOutcome outcome = machine.search({32, 0, 256});
  CHECK(outcome.best.chunk == 0);
  for (const TuningTrial& c : machine.told) {
    CHECK(c.tuning.nb % 32 == 0);
    CHECK(c.tuning.nb <= 192);
    CHECK((c.tuning.lookahead >= 0 && c.tuning.lookahead <= 1));
    CHECK(c.tuning.chunk < 10000);
    CHECK((c.tuning.chunk == 0 || c.tuning.chunk >= 256));
  }
}

TEST_CASE("the search passes over one slower value, but not over two") {
  const auto rate = [](std::int64_t nb) { return nb == 128 || nb == 1536 ? 2e9 : 1e9; };
  for (const auto& [from, to] : {std::pair{256, 128}, std::pair{64, 128}, std::pair{512, 512}}) {
    Machine machine([&](const Tuning& t) { return rate(t.nb); });
    CAPTURE(from);
    CHECK(machine.search({from, 1, 0}).best.nb == to);
  }
}

TEST_CASE("a gain within the margin is noise") {
  for (const double gain : {1 + tune_margin / 2, 1 + 2 * tune_margin}) {
    Machine machine([&](const Tuning& t) { return t.lookahead == 0 ? 1e9 * gain : 1e9; });
    CHECK(machine.search({512, 1, 0}).best.lookahead == (gain > 1 + tune_margin ? 0 : 1));
  }
}

TEST_CASE("a single lucky run does not win") {
  int lucky = 1;
  Machine machine([&](const Tuning& t) { return t.nb == 768 && lucky-- > 0 ? 2e9 : 1e9; });
  CHECK(machine.search({512, 1, 0}).best == Tuning{512, 1, 0});
}

TEST_CASE("a gain is given up unless the last comparison with the start confirms it") {
  std::map<std::int64_t, int> runs;
  // nb = 768 is faster during the search, but not when it is compared with the start at the end.
  Machine machine([&](const Tuning& t) {
    if (t.nb != 768) return 1e9;
    return ++runs[t.nb] <= 2 ? 2e9 : 1e9;
  });
  machine.space.allowed = [](const Tuning& t) {
    return t.nb == 768 && t.chunk == 0 && t.lookahead == 1;
  };
  const TuneOutcome outcome = machine.search({512, 1, 0});
  CHECK(outcome.best == Tuning{512, 1, 0});
  CHECK(outcome.rate == outcome.default_rate);
  CHECK(machine.told[1].better);
  CHECK_FALSE(machine.told.back().better);
}

TEST_CASE("a machine that becomes slower all the time favours no candidate") {
  double speed = 1e9;
  Machine machine([&](const Tuning&) { return speed *= 0.99; });
  CHECK(machine.search({512, 1, 0}).best == Tuning{512, 1, 0});
}

TEST_CASE("the search ends within its budget") {
  for (double budget = 0; budget < 120; budget += 1.5) {
    Machine machine(bowl);
    const double end = machine.clock.time + budget;
    const TuneOutcome outcome = machine.search({2048, 0, 0}, budget);
    CAPTURE(budget);
    CHECK(machine.clock.time <= std::max(end, 101.));
    CHECK(machine.runs >= 1);
    CHECK((outcome.trials > 0) == (budget >= 1 + outcome.seconds_needed));
    if (outcome.complete) CHECK(outcome.best == bottom);
    if (budget > 100) CHECK(outcome.complete);
    if (outcome.trials == 0) CHECK(outcome.best == Tuning{2048, 0, 0});
  }
}

TEST_CASE("a run that takes longer than those before does not exceed the budget") {
  Machine machine([](const Tuning&) { return 1e9; });
  machine.space.allowed = [&](const Tuning& t) {
    machine.run_seconds = t.nb > 512 ? 5 : 1;
    return true;
  };
  const double end = machine.clock.time + 30;
  machine.search({512, 1, 0}, 30);
  CHECK(machine.clock.time <= end);
}
}  // namespace speedwell::test::tune_search_tests
