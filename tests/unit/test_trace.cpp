// SPDX-License-Identifier: BSD-3-Clause
#include <unistd.h>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "clocks.hpp"
#include "core/trace.hpp"
#include "document/trace_report.hpp"
#include "factor/queue_times.hpp"
#include "io/trace_json.hpp"

namespace speedwell::test::trace_tests {
namespace {

/// An event whose times have the precision of a GPU's: milliseconds as 24-bit numbers.
class CoarseEvent final : public Event {
 public:
  explicit CoarseEvent(double time) : time_(time) {}
  bool reached() const override { return true; }
  void wait() const override {}
  double seconds_since(const Event& earlier) const override {
    const double seconds = time_ - static_cast<const CoarseEvent&>(earlier).time_;
    return static_cast<double>(static_cast<float>(seconds * 1e3)) / 1e3;
  }

 private:
  double time_;
};

class CoarseQueue final : public Queue {
 public:
  explicit CoarseQueue(const Clock& clock) : clock_(clock) {}
  void synchronize() override {}
  EventPtr record() override { return std::make_shared<CoarseEvent>(clock_.now() + 12345); }
  void wait(const Event&) override {}

 private:
  const Clock& clock_;
};

/// A queue whose host loses its core for a while after each of the first events.
class LateQueue final : public Queue {
 public:
  LateQueue(SetClock& clock, std::vector<double> naps) : clock_(clock), naps_(std::move(naps)) {}
  void synchronize() override {}
  EventPtr record() override {
    auto event = std::make_shared<CoarseEvent>(clock_.now());
    if (events_ < naps_.size()) clock_.time += naps_[events_++];
    return event;
  }
  void wait(const Event&) override {}

 private:
  SetClock& clock_;
  std::vector<double> naps_;
  std::size_t events_ = 0;
};

TraceSpan span(Activity activity, Track track, double begin, double end, Phase phase = Phase::none,
               std::int64_t step = -1, std::int64_t columns = -1) {
  return {
      begin, end, {.activity = activity, .phase = phase, .step = step, .columns = columns}, track};
}

nlohmann::json parsed(const std::string& text) {
  return nlohmann::json::parse(text);
}

std::vector<nlohmann::json> events(const nlohmann::json& document, const std::string& kind) {
  std::vector<nlohmann::json> found;
  for (const auto& event : document["traceEvents"])
    if (event["ph"] == kind) found.push_back(event);
  return found;
}

Setup setup_of(GridShape shape) {
  Setup setup;
  setup.options.n = 100;
  setup.options.run.nb = 8;
  setup.options.run.nprow = shape.nprow;
  setup.options.run.npcol = shape.npcol;
  setup.options.precision = Precision::fp16;
  setup.lu.grid = shape;
  setup.machine.hosts.assign(static_cast<std::size_t>(shape.nprow) * shape.npcol, "here");
  return setup;
}

nlohmann::json written(const TraceReport& report) {
  const auto path = std::filesystem::temp_directory_path() /
                    ("speedwell-trace-" + std::to_string(::getpid()) + ".json");
  report.write(path.string(), "speedwell mxp");
  std::ifstream stream(path);
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  std::filesystem::remove(path);
  return parsed(text);
}

}  // namespace

TEST_CASE("without a trace a span does not read the clock") {
  const CountingClock clock;
  const RunContext run(clock);
  { const auto span = run.span(Track::host, {}); }
  CHECK(run.stage(Activity::generation, [] { return 7; }) == 7);
  CHECK(clock.looks == 0);
  double sum = 0;
  { const auto watch = run.stopwatch(sum, {}); }
  CHECK(sum == 1);
  CHECK(clock.looks == 2);
}

TEST_CASE("a stopwatch adds the same time to its sum and to the trace") {
  const CountingClock clock;
  RunContext run(clock);
  Trace trace;
  double sum = 10;
  {
    const RunContext::Tracing tracing(run, &trace);
    { const auto watch = run.stopwatch(sum, {Activity::wait_for_panel, Phase::broadcast, 3}); }
    { const auto span = run.span(Track::solves, {.activity = Activity::solve_upper}); }
    CHECK(run.stage(Activity::generation, [] { return 7; }) == 7);
  }
  { const auto span = run.span(Track::solves, {}); }
  REQUIRE(trace.spans().size() == 3);
  const TraceSpan& wait = trace.spans()[0];
  CHECK(sum == 11);
  CHECK(wait.begin == 1);
  CHECK(wait.end == 2);
  CHECK(wait.track == Track::host);
  CHECK(wait.label.activity == Activity::wait_for_panel);
  CHECK(wait.label.phase == Phase::broadcast);
  CHECK(wait.label.step == 3);
  CHECK(trace.spans()[1].track == Track::solves);
  CHECK(trace.spans()[2].track == Track::stages);
}

TEST_CASE("spans for which a trace has no room are counted") {
  Trace trace(2);
  for (int i = 0; i < 5; ++i) trace.add(Track::host, i, i + 1, {});
  CHECK(trace.left_out() == 3);
  const RankTrace taken = trace.take();
  CHECK(taken.left_out == 3);
  REQUIRE(taken.spans.size() == 2);
  CHECK(taken.spans.back().begin == 1);
  CHECK(trace.spans().empty());
  CHECK(trace.left_out() == 0);
}

TEST_CASE("every activity, track and phase has a name of its own") {
  std::set<std::string_view> names;
  for (int i = 0; i <= static_cast<int>(Activity::product); ++i)
    names.insert(name(static_cast<Activity>(i)));
  CHECK(names.size() == static_cast<std::size_t>(Activity::product) + 1);
  CHECK(names.count("") == 0);
  CHECK(name(Activity::diagonal) == "diagonal");
  CHECK(name(Activity::update) == "update");
  CHECK(name(Activity::wait_for_updates) == "wait for updates");
  CHECK(name(Activity::solve_upper) == "solve U");
  CHECK(name(Track::updates) == "updates");
  CHECK(name(Phase::none).empty());
  CHECK(name(Phase::broadcast) == "broadcast_exposed");
}

TEST_CASE("times of queues stay exact on the clock's time line in long runs") {
  SetClock clock;
  CoarseQueue queue(clock);
  FactorTimes totals;
  Trace trace;
  RunContext run(clock);
  const RunContext::Tracing tracing(run, &trace);
  clock.time = 100;
  QueueTimes times(totals, run, queue);
  for (int i = 0; i < 40000; ++i) {
    clock.time = 100 + 0.1003 * i;
    times.time(queue, Track::updates, {Activity::update, Phase::update, i},
               [&] { clock.time += 0.03; });
  }
  times.finish();
  REQUIRE(trace.spans().size() == 40000);
  double worst = 0;
  double sum = 0;
  for (const TraceSpan& one : trace.spans()) {
    worst = std::max(worst,
                     std::fabs(one.begin - (100 + 0.1003 * static_cast<double>(one.label.step))));
    sum += one.end - one.begin;
  }
  CHECK(worst < 2e-5);  // a single time of 4000 s in 24 bits is off by up to 1.2e-4 s
  CHECK(totals.update == Approx(1200));
  CHECK(sum == Approx(totals.update).epsilon(1e-9));
  CHECK(totals.panel == 0);
}

TEST_CASE("times of queues are exact where the host loses its core now and then") {
  SetClock clock;
  LateQueue queue(clock, {0.5, 0.25, 1e-6, 0.75});
  FactorTimes totals;
  Trace trace;
  RunContext run(clock);
  const RunContext::Tracing tracing(run, &trace);
  QueueTimes times(totals, run, queue);
  clock.time = 10;
  times.time(queue, Track::updates, {Activity::update, Phase::update}, [&] { clock.time += 2; });
  times.finish();
  REQUIRE(trace.spans().size() == 1);
  CHECK(trace.spans()[0].begin == Approx(10).margin(1e-5));
  CHECK(trace.spans()[0].end == Approx(12).margin(1e-5));
}

TEST_CASE("sums of the times of queues need no trace") {
  SetClock clock;
  CoarseQueue queue(clock);
  FactorTimes totals;
  QueueTimes times(totals, RunContext::none(), queue);
  times.time(queue, Track::panels, {Activity::diagonal, Phase::panel}, [&] { clock.time += 2; });
  times.time(queue, Track::rows, {Activity::solve_row, Phase::rows}, [&] { clock.time += 3; });
  times.finish();
  CHECK(totals.panel == Approx(2));
  CHECK(totals.rows == Approx(3));
}

TEST_CASE("a trace in Chrome's format has ranks, tracks, runs and spans") {
  TracedRun first{"first", 5, {}};
  first.ranks.push_back({{span(Activity::update, Track::updates, 6, 6.5, Phase::update, 2, 40),
                          span(Activity::generation, Track::stages, 5.25, 6)},
                         0});
  first.ranks.push_back({});
  const TracedRun second{
      "second", 8, {{{span(Activity::solve, Track::host, 9, 10, Phase::solves)}, 0}}};
  const auto document =
      parsed(chrome_trace({"rank 0 on \"a\"", "rank 1 on \xff"}, {first, second}, {{"n", 4}}));
  CHECK(document["otherData"]["n"] == 4);

  const auto spans = events(document, "X");
  REQUIRE(spans.size() == 3);
  CHECK(spans[0]["name"] == "update");
  CHECK(spans[0]["cat"] == "update");
  CHECK(spans[0]["ts"] == 1e6);
  CHECK(spans[0]["dur"] == 5e5);
  CHECK(spans[0]["pid"] == 0);
  CHECK(spans[0]["args"] == nlohmann::json{{"step", 2}, {"columns", 40}});
  CHECK(spans[1]["ts"] == 250000);
  CHECK_FALSE(spans[1].contains("args"));
  CHECK_FALSE(spans[1].contains("cat"));
  CHECK(spans[2]["ts"] == 4e6);

  const auto instants = events(document, "i");
  REQUIRE(instants.size() == 2);
  CHECK(instants[0]["name"] == "first");
  CHECK(instants[0]["ts"] == 0);
  CHECK(instants[1]["ts"] == 3e6);

  std::vector<std::string> processes;
  std::set<std::string> tracks;
  for (const auto& event : events(document, "M")) {
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
    if (event["name"] != "thread_name") continue;
    CHECK(event["pid"] == 0);
    tracks.insert(event["args"]["name"]);
    for (const auto& one : spans)
      if (one["name"] == "update" && event["args"]["name"] == "updates")
        CHECK(one["tid"] == event["tid"]);
  }
  REQUIRE(processes.size() == 2);
  CHECK(processes[0] == "rank 0 on \"a\"");
  CHECK(tracks == std::set<std::string>{"stages", "host", "updates"});
}

TEST_CASE("an empty trace is valid JSON") {
  const auto document = parsed(chrome_trace({}, {}, nlohmann::ordered_json::object()));
  CHECK(document["traceEvents"].empty());
}

TEST_CASE("the runs of a report follow one another in the trace, with their options") {
  TraceReport report;
  report.add(setup_of({1, 2}), 0, 2, {1, {{{}, 0}, {{}, 0}}});
  report.add(setup_of({1, 2}), 1, 2, {2, {{{}, 0}, {{}, 0}}});
  report.add(setup_of({3, 1}), 0, 1, {3, {{{}, 0}, {{}, 4}, {{}, 0}}});
  const auto document = written(report);
  const auto instants = events(document, "i");
  REQUIRE(instants.size() == 3);
  CHECK(instants[1]["name"] == "hpl-mxp n 100 nb 8 1 x 2 fp16, run 2 of 2");
  CHECK(instants[2]["name"] == "hpl-mxp n 100 nb 8 3 x 1 fp16");
  const auto& other = document["otherData"];
  CHECK(other["command_line"] == "speedwell mxp");
  CHECK(other["version"].is_string());
  CHECK(other["revision"].is_string());
  REQUIRE(other["runs"].size() == 3);
  CHECK(other["runs"][2]["P"] == 3);
  CHECK(other["runs"][2]["Q"] == 1);
  CHECK(other["runs"][2]["n"] == 100);
  CHECK(other["runs"][2]["nb"] == 8);
  CHECK(other["runs"][2]["precision"] == "fp16");
  CHECK(other["runs"][1]["spans_left_out"] == 0);
  CHECK(other["runs"][2]["spans_left_out"] == 4);
  CHECK(report.left_out() == 4);
  std::vector<std::string> processes;
  for (const auto& event : events(document, "M"))
    if (event["name"] == "process_name") processes.push_back(event["args"]["name"]);
  CHECK(processes ==
        std::vector<std::string>{"rank 0 on here (0,0)", "rank 1 on here", "rank 2 on here (2,0)"});
}

TEST_CASE("a file of runs that grows too large leaves out the last spans, and counts them") {
  const RankTrace three{
      {span(Activity::update, Track::updates, 1, 2), span(Activity::update, Track::updates, 2, 3),
       span(Activity::update, Track::updates, 3, 4)},
      1};
  TraceReport report(8);
  report.add(setup_of({1, 2}), 0, 2, {0, {three, three}});
  CHECK(report.left_out() == 2);
  report.add(setup_of({1, 2}), 1, 2, {5, {three, three}});
  CHECK(report.left_out() == 8);
  report.add(setup_of({1, 2}), 2, 2, {9, {three, three}});
  const auto document = written(report);
  CHECK(events(document, "X").size() == 8);
  CHECK(document["otherData"]["runs"][1]["spans_left_out"] == 6);
}
}  // namespace speedwell::test::trace_tests
