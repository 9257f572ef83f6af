// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "grid/grid_shape.hpp"
#include "paper/search.hpp"
#include "paper/search_report.hpp"
#include "setup/sizing.hpp"

namespace speedwell::test::paper_search_tests {
using namespace speedwell::paper;

namespace {

/// In place of simulations: rates by a function of the options. Each batch takes `seconds`.
class Fake {
 public:
  explicit Fake(std::function<double(const BenchmarkOptions&)> gflops)
      : gflops_(std::move(gflops)) {}

  SearchOutcome search(const BenchmarkOptions& asked = {}) {
    Scenario scenario;
    scenario.machine.name = "fake";
    scenario.ranks = ranks;
    const double begin = clock.time;
    SearchOutcome outcome = paper::search(
        scenario, asked, request, [this](auto cases) { return predict(cases); }, clock);
    spent = clock.time - begin;
    return outcome;
  }

  test::SetClock clock{100};
  SearchRequest request;
  int ranks = 8;
  double seconds = 0;
  std::int64_t largest = 100000;  // n that fits
  std::int64_t refused_nb = 0;    // is refused
  bool can_sample = false;        // whether samples are possible
  double whole_factor = 1;        // of whole runs with nb = 1536, over samples
  std::vector<Case> seen;
  double spent = 0;

 private:
  std::vector<Predicted> predict(std::span<const Case> cases) {
    std::vector<Predicted> all;
    for (const Case& one : cases) all.push_back(predict(one));
    clock.time += seconds;
    return all;
  }
  Predicted predict(const Case& one) {
    seen.push_back(one);
    Predicted p;
    BenchmarkOptions& o = p.chosen = one.options;
    if (o.run.nb == 0) o.run.nb = 1024;
    if (o.run.nb == refused_nb) {
      p.refusal = "nb does not fit";
      return p;
    }
    if (o.run.nprow == 0) {
      o.run.nprow = squarest(ranks, GridOrder::row).nprow;
      o.run.npcol = ranks / o.run.nprow;
    }
    if (o.run.lookahead < 0) o.run.lookahead = 1;
    if (o.n == 0) o.n = round_to_blocks(largest, o.run.nb);
    o.run.chunk = std::min(o.run.chunk == 0 ? 4096 : o.run.chunk, o.n);
    p.panel_width = o.run.nb;
    p.sampled = one.sampled && can_sample;
    p.gflops = gflops_(o) * (!p.sampled && o.run.nb == 1536 ? whole_factor : 1);
    p.seconds = p.lu_seconds = benchmark_flops(o.n) / p.gflops / 1e9;
    return p;
  }

  std::function<double(const BenchmarkOptions&)> gflops_;
};

double away(double value, double best) {
  return std::pow(std::log2(value / best), 2);
}

/// Highest at nb 1536, 4 x 2, look-ahead 0, chunks of 16384, 2ring, and the largest n.
double bowl(const BenchmarkOptions& o) {
  return 1000 *
         std::exp(-0.3 * away(static_cast<double>(o.run.nb), 1536) - 0.1 * away(o.run.nprow, 4) -
                  0.1 * o.run.lookahead - 0.1 * away(static_cast<double>(o.run.chunk), 16384) -
                  (o.run.broadcast == BroadcastMethod::two_ring ? 0 : 0.02) -
                  0.1 * away(static_cast<double>(o.n), 1e5));
}

std::string values(const BenchmarkOptions& o) {
  return fmt::format("{} {} {} {} {} {} {}", o.n, o.run.nb, o.run.nprow, o.run.npcol,
                     o.run.lookahead, o.run.chunk, name(o.run.broadcast));
}

std::string reason(const SearchOutcome& outcome, Choice choice) {
  return outcome.reasons.at(static_cast<std::size_t>(choice)).text;
}

}  // namespace

TEST_CASE("The search finds the fastest configuration, and tries none twice") {
  Fake fake(bowl);
  const SearchOutcome found = fake.search();
  const RunOptions& run = found.chosen().chosen.run;
  CHECK(run.nb == 1536);
  CHECK(run.nprow == 4);
  CHECK(run.npcol == 2);
  CHECK(run.lookahead == 0);
  CHECK(run.chunk == 16384);
  CHECK(run.broadcast == BroadcastMethod::two_ring);
  CHECK(found.chosen().chosen.n == round_to_blocks(100000, 1536));
  CHECK(found.complete);
  CHECK(!found.sampled);
  std::set<std::string> known;
  for (const SearchTrial& trial : found.trials) CHECK(known.insert(values(trial.asked)).second);
  CHECK(fake.seen.size() == found.trials.size());
}

TEST_CASE("The search changes one value at a time, in the order of the choices") {
  Fake fake(bowl);
  const SearchOutcome found = fake.search();
  std::vector<std::int64_t> first;
  for (std::size_t i = 1; i <= 4; ++i) first.push_back(found.trials[i].asked.run.nb);
  CHECK(first == std::vector<std::int64_t>{512, 768, 1536, 2048});
  // 2 x 4 is the default grid: the other divisors of 8 come next, with the best nb.
  std::vector<int> second;
  for (std::size_t i = 5; i <= 7; ++i) {
    CHECK(found.trials[i].asked.run.nb == 1536);
    second.push_back(found.trials[i].asked.run.nprow);
  }
  CHECK(second == std::vector<int>{1, 4, 8});
}

TEST_CASE("Reasons compare the best value with the others that were tried") {
  Fake fake([](const BenchmarkOptions& o) { return o.run.nb == 1536 ? 100. : 98.; });
  fake.refused_nb = 2048;
  BenchmarkOptions asked;
  asked.run.lookahead = 0;
  const SearchOutcome found = fake.search(asked);
  CHECK(reason(found, Choice::nb) ==
        "nb 1536: 1024 is 2.0 % slower, 512 is 2.0 % slower, 768 is 2.0 % slower, 2048 is refused, "
        "3072 is 2.0 % slower");
  CHECK(reason(found, Choice::grid) ==
        "grid 2 x 4: 1 x 8 is as fast, 4 x 2 is as fast, 8 x 1 is as fast");
  CHECK(reason(found, Choice::lookahead) == "look-ahead 0: given");
  CHECK_THAT(reason(found, Choice::n),
             ContainsSubstring("n 99840: the largest that fits; 89088 is"));
}

TEST_CASE("Values that are given stay") {
  Fake fake(bowl);
  fake.request.broadcast_given = true;
  BenchmarkOptions asked;
  asked.n = 5000;
  asked.run.nb = 96;
  asked.run.npcol = 8;
  asked.run.nprow = 1;
  asked.run.lookahead = 1;
  asked.run.chunk = 777;
  const SearchOutcome found = fake.search(asked);
  CHECK(found.trials.size() == 1);
  CHECK(values(found.chosen().chosen) == "5000 96 1 8 1 777 1ring-modified");
  asked.run.nb = 0;
  for (const SearchTrial& trial : fake.search(asked).trials) {
    BenchmarkOptions same = trial.asked;
    same.run.nb = 0;
    CHECK(same.run == asked.run);
    CHECK(same.n == asked.n);
  }
}

TEST_CASE("One rank has no choice of grid and broadcast") {
  Fake fake(bowl);
  fake.ranks = 1;
  const SearchOutcome found = fake.search();
  CHECK(reason(found, Choice::grid) == "grid 1 x 1: one rank has no choice");
  CHECK(reason(found, Choice::broadcast) == "bcast 1ring-modified: one rank has no choice");
  for (const SearchTrial& trial : found.trials) CHECK(trial.asked.run.nprow == 1);
}

TEST_CASE("A smaller n is taken where it is faster") {
  Fake fake([](const BenchmarkOptions& o) { return o.n < 80000 && o.n > 60000 ? 2000. : 1000.; });
  const SearchOutcome found = fake.search();
  CHECK(found.chosen().chosen.n == 73728);
  CHECK(found.trials[found.best].asked.n == found.chosen().chosen.n);
}

TEST_CASE("The search ends with its budget") {
  Fake fake(bowl);
  fake.seconds = 1;
  fake.request.budget = 4.5;
  const SearchOutcome found = fake.search();
  CHECK(!found.complete);
  CHECK(fake.spent == 4);
  CHECK(found.trials.size() == 4);
  CHECK(found.reasons.size() == choice_count);
  fake.request.processes = 3;  // a batch of three takes as long as one prediction
  fake.request.budget = 3.5;
  CHECK(fake.search().trials.size() == 1 + 3 + 1);
  CHECK(fake.spent == 3);
}

TEST_CASE("Long runs are sampled, and whole runs choose among the fastest") {
  Fake fake(bowl);
  fake.can_sample = true;
  fake.largest = 1000000;
  fake.ranks = 64;
  fake.whole_factor = 0.01;
  // 977 steps of 64 ranks at 0.5 ms: 31 s.
  fake.request.budget = 10 * 32;
  const SearchOutcome found = fake.search();
  CHECK(found.sampled);
  for (const SearchTrial& trial : found.trials) CHECK(trial.predicted.sampled);
  CHECK(found.whole.size() == 5);
  for (const SearchTrial& trial : found.whole) CHECK(!trial.predicted.sampled);
  CHECK(values(found.whole.back().asked) == values(found.trials.front().asked));
  CHECK(found.chosen().chosen.run.nb != 1536);  // the best of samples, but not of whole runs
  CHECK(!found.chosen().sampled);
  fake.request.budget = 20;
  const SearchOutcome short_of_time = fake.search();
  CHECK(short_of_time.whole.empty());
  CHECK(short_of_time.chosen().chosen.run.nb == 1536);
  CHECK_THAT(search_text({}, {}, short_of_time), ContainsSubstring("LU alone"));
}

TEST_CASE("Short runs are predicted as a whole") {
  Fake fake(bowl);
  fake.can_sample = true;
  const SearchOutcome found = fake.search();
  CHECK(!found.sampled);
  for (const SearchTrial& trial : found.trials) CHECK(!trial.predicted.sampled);
}

TEST_CASE("What cannot run is refused before the search") {
  Fake fake(bowl);
  fake.refused_nb = 1024;
  CHECK_THROWS_WITH(fake.search(), "nb does not fit");
}

TEST_CASE("The same search gives the same text and document") {
  Fake fake(bowl);
  const SearchOutcome first = fake.search();
  const SearchOutcome second = fake.search();
  Scenario scenario;
  scenario.machine.name = "fake";
  const std::string text = search_text(scenario, {}, first);
  CHECK(text == search_text(scenario, {}, second));
  const std::string document = search_json(scenario, {}, first).dump();
  CHECK(document == search_json(scenario, {}, second).dump());
  CHECK_THAT(text, ContainsSubstring("PREDICTED for fake (not validated on a GPU)"));
  CHECK_THAT(text,
             ContainsSubstring("\n    speedwell mxp -N 99840 --nb 1536 -P 4 -Q 2 --lookahead 0 "
                               "--bcast 2ring --chunk 16384\n"));
  const auto all = nlohmann::json::parse(document);
  CHECK(all["best"]["nb"] == 1536);
  CHECK(all["trials"].size() == first.trials.size());
  CHECK(all["trials"][0]["gflops"] == first.trials[0].predicted.gflops);
}

TEST_CASE("The command repeats what the user gave") {
  BenchmarkOptions asked;
  asked.benchmark = Benchmark::hpl;
  asked.n = 0;
  asked.memory_fraction = 0.5;
  asked.ndiv = 3;
  asked.run.comm = CommMethod::staged;
  asked.max_iterations = 9;
  BenchmarkOptions chosen = asked;
  chosen.n = 4096;
  chosen.run.nb = 128;
  chosen.run.nprow = chosen.run.npcol = 1;
  chosen.run.lookahead = 1;
  chosen.run.chunk = 4096;
  CHECK(
      command_of(asked, chosen) ==
      "speedwell hpl -N 4096 --nb 128 -P 1 -Q 1 --lookahead 1 --bcast 1ring-modified --chunk 4096 "
      "--comm staged --ndiv 3 --max-iterations 9");
}
}  // namespace speedwell::test::paper_search_tests
