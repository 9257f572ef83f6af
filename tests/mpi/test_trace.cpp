// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "bench/campaign.hpp"
#include "catch.hpp"
#include "clocks.hpp"
#include "comm/communicator.hpp"
#include "comm/time_line.hpp"
#include "core/numbers.hpp"
#include "core/trace.hpp"
#include "document/trace_report.hpp"
#include "pipeline.hpp"
#include "world.hpp"

namespace speedwell::test::trace_tests {
namespace {

/// A clock that advances by uneven steps whenever it is read, and records its readings.
class UnevenClock final : public Clock {
 public:
  double now() const override {
    constexpr std::array<double, 5> steps{0.5, 0.25, 0.75, 0.001, 0.9};
    said.push_back((said.empty() ? 0 : said.back()) + steps.at(said.size() % steps.size()));
    return said.back();
  }
  mutable std::vector<double> said;
};

/// The middle of the shortest round trip from rank 0 to `rank`, on rank 0's clock. Rank 0 makes the
/// same number of round trips to every other rank, and reads its clock before and after each.
double middle_of_shortest_way(const std::vector<double>& said, int rank, int ranks) {
  const std::size_t looks = (said.size() - 1) / static_cast<std::size_t>(ranks - 1);
  std::size_t best = looks * static_cast<std::size_t>(rank - 1);
  for (std::size_t i = best; i < looks * static_cast<std::size_t>(rank); i += 2)
    if (said[i + 1] - said[i] < said[best + 1] - said[best]) best = i;
  return (said[best] + said[best + 1]) / 2;
}

double sum_of(const std::vector<TraceSpan>& spans, Phase phase) {
  double sum = 0;
  for (const TraceSpan& span : spans)
    if (span.label.phase == phase) sum += span.end - span.begin;
  return sum;
}

/// The longest time in seconds during which two spans of one track overlap.
double overlap(std::vector<TraceSpan> spans) {
  std::map<Track, double> last;
  double most = 0;
  std::stable_sort(spans.begin(), spans.end(),
                   [](const TraceSpan& a, const TraceSpan& b) { return a.begin < b.begin; });
  for (const TraceSpan& span : spans) {
    if (last.count(span.track) > 0) most = std::max(most, last[span.track] - span.begin);
    last[span.track] = std::max(last[span.track], span.end);
  }
  return most;
}

std::set<Track> tracks_of(const std::vector<TraceSpan>& spans) {
  std::set<Track> tracks;
  for (const TraceSpan& span : spans) tracks.insert(span.track);
  return tracks;
}

const TraceSpan* find(const std::vector<TraceSpan>& spans, Activity activity) {
  const auto found = std::find_if(spans.begin(), spans.end(), [&](const TraceSpan& span) {
    return span.label.activity == activity;
  });
  return found == spans.end() ? nullptr : &*found;
}

BenchmarkOptions small_options(Benchmark benchmark) {
  BenchmarkOptions options;
  options.benchmark = benchmark;
  options.n = 200;
  options.run.nb = 16;
  options.precision = benchmark == Benchmark::mxp ? Precision::fp16 : Precision::fp64;
  options.run.threads = 1;
  options.run.device = test::device_choice().device;
  options.run.comm = test::device_choice().comm;
  return options;
}

/// Checks that average and maximum over ranks of the trace's sums are those of the report.
void check_phase(const RunTrace& run, Phase phase, const PhaseTime& time) {
  CAPTURE(name(phase));
  double total = 0;
  double most = 0;
  for (const RankTrace& rank : run.ranks) {
    const double sum = sum_of(rank.spans, phase);
    total += sum;
    most = std::max(most, sum);
  }
  CHECK(total / static_cast<double>(run.ranks.size()) == Approx(time.average).margin(1e-8));
  CHECK(most == Approx(time.maximum).margin(1e-8));
}

void check_rank(const RankTrace& rank, double begin, double end, bool overlaps, bool pivoting) {
  CHECK(rank.left_out == 0);
  std::set<Track> found = tracks_of(rank.spans);
  std::set<Track> tracks{Track::stages, Track::host, Track::updates, Track::solves};
  if (pivoting)
    tracks.insert({Track::panels, Track::rows});
  else
    found.erase(Track::panels);  // of diagonal blocks, which some ranks do not have
  CHECK(found == tracks);
  if (!overlaps) CHECK(overlap(rank.spans) < 1e-9);
  const TraceSpan* factorization = find(rank.spans, Activity::factorization);
  REQUIRE(factorization != nullptr);
  constexpr double rounding = 1e-4;  // of the conversion of queues' times to the host's clock
  int outside = 0;
  for (const TraceSpan& span : rank.spans) {
    if (!(begin <= span.begin && span.begin <= span.end && span.end <= end)) ++outside;
    const bool on_queue =
        span.track == Track::panels || span.track == Track::rows || span.track == Track::updates;
    if (on_queue &&
        (span.begin < factorization->begin - rounding || span.end > factorization->end + rounding))
      ++outside;
  }
  CHECK(outside == 0);
}

}  // namespace

TEST_CASE("gather brings any number of values of every rank to rank 0", "[comm]") {
  const Communicator all = world();
  const std::vector<std::int64_t> mine(static_cast<std::size_t>(3 * all.rank()), all.rank());
  const auto gathered = all.gather(mine);
  REQUIRE(std::ssize(gathered) == (all.rank() == 0 ? all.size() : 0));
  for (int rank = 0; rank < static_cast<int>(gathered.size()); ++rank)
    CHECK(gathered[static_cast<std::size_t>(rank)] ==
          std::vector<std::int64_t>(static_cast<std::size_t>(3 * rank), rank));
}

TEST_CASE("ranks with the same clock have exactly the same times", "[comm]") {
  const Communicator all = world();
  const SteadyClock clock;
  TimeLine line(all, clock);
  const double time = clock.now();
  CHECK(line.on_rank_0(time) == time);
  line.end();
  CHECK(line.on_rank_0(time) == time);
}

TEST_CASE("the shortest round trip gives the offset of a rank's clock", "[comm]") {
  const Communicator all = world();
  const UnevenClock of_rank_0;
  const test::SetClock of_others(1000);
  const bool first = all.rank() == 0;
  const TimeLine line(all, first ? static_cast<const Clock&>(of_rank_0) : of_others);
  std::vector<double> middles(static_cast<std::size_t>(all.size()));
  if (first)
    for (int rank = 1; rank < all.size(); ++rank)
      middles[static_cast<std::size_t>(rank)] =
          middle_of_shortest_way(of_rank_0.said, rank, all.size());
  all.broadcast(std::span(middles), 0);
  const double expected = first ? 1000 : middles[static_cast<std::size_t>(all.rank())];
  CHECK(line.on_rank_0(1000) == Approx(expected).epsilon(1e-12));
}

TEST_CASE("times of clocks that drift are converted to rank 0's clock", "[comm]") {
  const Communicator all = world();
  const double offset = 1000.0 * all.rank();
  const double rate = 1 + 0.5 * all.rank();
  test::SetClock clock(offset);  // messages take no time
  TimeLine line(all, clock);
  const auto error = [&](double time) {
    return std::fabs(line.on_rank_0(offset + rate * time) - time);
  };
  CHECK(error(0) == 0);
  clock.time = offset + rate * 100;
  CHECK(error(100) == Approx(50 * all.rank()).margin(1e-9));
  line.end();
  for (const double time : {0., 20., 100., 120.}) CHECK(error(time) < 1e-9);
}

TEST_CASE("the times of a factorization are the sums of its spans", "[factor]") {
  const Communicator all = world();
  for (const Pivoting pivoting : {Pivoting::none, Pivoting::partial}) {
    BenchmarkOptions options;
    options.n = 120;
    options.run.nb = 16;
    options.pivoting = pivoting;
    test::Problem problem(all, test::grids(all.size()).back(), options);
    Trace trace;
    const RunContext::Tracing tracing(problem.run, &trace);
    const double begin = problem.run.now();
    const FactorOutcome outcome = problem.factor({.width = 16, .pivoting = pivoting});
    const double end = problem.run.now();
    REQUIRE(outcome.usable());
    CHECK(trace.left_out() == 0);
    CHECK(sum_of(trace.spans(), Phase::panel) == Approx(outcome.times.panel).margin(1e-8));
    CHECK(sum_of(trace.spans(), Phase::rows) == Approx(outcome.times.rows).margin(1e-8));
    CHECK(sum_of(trace.spans(), Phase::update) == Approx(outcome.times.update).margin(1e-8));
    CHECK(sum_of(trace.spans(), Phase::broadcast) == Approx(outcome.times.broadcast).margin(1e-8));
    CHECK(outcome.times.update > 0);
    if (!problem.device->overlaps()) CHECK(overlap(trace.spans()) < 1e-9);
    for (const TraceSpan& span : trace.spans()) {
      if (span.begin < begin - 1e-3 || span.end > end + 1e-3) FAIL("a span lies outside");
      if (span.label.step >= ceil_div(120, 16)) FAIL("no step has this number");
    }
    CHECK((find(trace.spans(), Activity::wait_for_pivots) != nullptr) ==
          (pivoting == Pivoting::partial));
  }
}

TEST_CASE("a run's trace has every rank, and its sums are the phases of the report", "[bench]") {
  const Communicator all = world();
  const SteadyClock clock;
  for (const Benchmark benchmark : {Benchmark::mxp, Benchmark::hpl}) {
    BenchmarkRunner runner(comm_world(), small_options(benchmark));
    const double begin = clock.now();
    RunTrace run;
    const BenchmarkResult result = runner.run({}, &run).result;
    CHECK(result.passed);
    CHECK(std::ssize(run.ranks) == (all.rank() == 0 ? all.size() : 0));
    if (all.rank() != 0) continue;
    CHECK(run.begin >= begin);
    const bool overlaps = test::make_chosen_device()->overlaps();
    for (const RankTrace& rank : run.ranks)
      check_rank(rank, run.begin, clock.now(), overlaps, benchmark == Benchmark::hpl);
    check_phase(run, Phase::panel, result.panel);
    check_phase(run, Phase::rows, result.rows);
    check_phase(run, Phase::broadcast, result.broadcast);
    check_phase(run, Phase::update, result.update);
    check_phase(run, Phase::solves, result.solves);
    check_phase(run, Phase::residuals, result.residuals);
    const bool refined = find(run.ranks.front().spans, Activity::refinement) != nullptr;
    CHECK(refined == (benchmark == Benchmark::mxp));
    CHECK(find(run.ranks.front().spans, Activity::verification) != nullptr);
    // A correction takes a pass over A; the residual of x = 0 takes none, nor does the norm of A.
    if (refined)
      CHECK(std::ranges::count(run.ranks.front().spans, Activity::residual,
                               [](const TraceSpan& span) { return span.label.activity; }) ==
            result.iterations);
  }
}

TEST_CASE("a campaign traces runs on grids of several sizes", "[bench]") {
  const Communicator all = world();
  std::vector<BenchmarkOptions> configurations;
  for (const int ranks : {1, all.size()}) {
    configurations.push_back(small_options(Benchmark::mxp));
    configurations.back().n = 40;
    configurations.back().run.nprow = ranks;
    configurations.back().run.npcol = 1;
  }
  Campaign campaign(all, configurations);
  TraceReport report;
  int turns = 0;
  const auto add = [&](const Setup& setup, const BenchmarkRun&, int turn, RunTrace trace) {
    CHECK(turn == turns++ % 2);
    CHECK(trace.ranks.size() == setup.machine.hosts.size());
    report.add(setup, turn, 2, std::move(trace));
  };
  for (std::size_t i = 0; i < campaign.size(); ++i)
    CHECK(campaign.run(i, 2, {.traced = true}, {}, add) == 2);
  CHECK(turns == (all.rank() == 0 ? 4 : 0));
  CHECK(report.left_out() == 0);
}
}  // namespace speedwell::test::trace_tests
