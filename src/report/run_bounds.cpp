// SPDX-License-Identifier: BSD-3-Clause
#include "report/run_bounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "report/json_fields.hpp"
#include "report/recorded_sensors.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr double largest = std::numeric_limits<double>::max();
constexpr double repeats = 1e-9;  // relative: what the same formula gives again

// Two clocks of one process that enclose the same work. 1 %: a GPU counts the time of its queues,
// and a system's clock may run faster or slower for a while. 0.1 s: smaller corrections of that
// clock may be a step, and records have milliseconds.
double by_other_clock(double seconds) {
  return 1.01 * seconds + 0.1;
}
// The other ranks' times begin at a barrier, which rank 0 may leave late where its core has many
// processes, or which a node stops for a while.
constexpr double leaves_late = 1;

/// Numbers that a run can have at all.
std::vector<Bound> possible(const Setup& setup, const BenchmarkRun& run) {
  const BenchmarkResult& r = run.result;
  constexpr double above_0 = std::numeric_limits<double>::min();
  std::vector<Bound> all{
      {"time_seconds", r.seconds, above_0, largest},
      {"lu.seconds", r.lu_seconds, above_0, largest},
      {"the seconds after the LU", r.refine_seconds, 0, largest},
      {"norms.A_inf", r.norms.a, above_0, largest},
      {"norms.x_inf", r.norms.x, 0, largest},
      {"norms.b_inf", r.norms.b, 0, largest},
      {"norms.residual_inf", r.norms.residual, 0, largest},
      {"scaled_residual", r.scaled_residual, 0, largest},
      {"the number of update_rates", static_cast<double>(run.update_rates.size()),
       static_cast<double>(setup.machine.hosts.size()),
       static_cast<double>(setup.machine.hosts.size())}};
  if (!std::isnan(run.large_pages))
    all.push_back({"large_pages_bytes", run.large_pages, 0, largest});
  for (const double rate : run.update_rates)
    if (!std::isnan(rate)) all.push_back({"update_rates", rate, above_0, largest});
  if (run.sensors)
    for (const Sensed<>& joules : run.sensors->energy.sum)
      if (joules) all.push_back({"energy.joules_by_phase", *joules, 0, largest});
  return all;
}

/// The peak of a process's resident memory has no least value: a system may have moved a part out.
std::vector<Bound> memory(const Setup& setup, const BenchmarkRun& run) {
  const auto n = static_cast<double>(setup.lu.n);
  const double factors =
      n * n * static_cast<double>(setup.lu.element()) / static_cast<double>(setup.lu.grid.size());
  std::vector<Bound> all;
  if (run.peak.resident)
    all.push_back({"memory_peak.resident", run.peak.resident->bytes, 1, largest});
  if (run.peak.device)
    all.push_back({"memory_peak.device", run.peak.device->bytes, factors, largest});
  return all;
}

/// The refinement's history: the error after each correction, or after each cycle of GMRES, of
/// which the smallest is that of the x that was kept. Both residuals are sums in twice FP64's
/// precision, of which ranks and threads change the last digits at most.
std::vector<Bound> refinement(const BenchmarkResult& r) {
  if (r.chosen.benchmark != Benchmark::mxp) return {};
  constexpr double digits = 1e-3;
  constexpr double rounding = 1e-6;  // of a scaled residual, whose unit is eps
  const auto entries = static_cast<double>(r.history.size());
  const double most = r.iterations;
  double best = largest;
  for (const double error : r.history) best = std::fmin(best, error);  // NaN: it was not finite
  return {{"the number of entries in refinement.history", entries,
           r.method == RefineMethod::gmres ? std::min(1., most) : most, most},
          {"scaled_residual", r.scaled_residual, (1 - digits) * best - rounding,
           (1 + digits) * best + rounding}};
}

/// Phases are parts of their stage. On a GPU three queues work beside each other; on CPUs a panel
/// and its updates do where a panel lies on several ranks, which wait for each other in it.
std::vector<Bound> phases(const Setup& setup, const BenchmarkResult& r) {
  const double beside = setup.lu.device == DeviceKind::cuda ? 3 : 1;
  const double lu = by_other_clock(r.lu_seconds) * beside;
  const double after = by_other_clock(r.refine_seconds);
  struct Part {
    const char* name;
    const PhaseTime& phase;
    double whole;
  };
  std::vector<Bound> all;
  for (const auto& [name, phase, whole] :
       {Part{"panel", r.panel, lu}, Part{"rows", r.rows, lu},
        Part{"broadcast_exposed", r.broadcast, lu}, Part{"update", r.update, lu},
        Part{"solves", r.solves, after}, Part{"residuals", r.residuals, after}}) {
    all.push_back({fmt::format("phases.{}.maximum", name), phase.maximum, 0, whole});
    all.push_back(
        {fmt::format("phases.{}.average", name), phase.average, 0, phase.maximum * (1 + repeats)});
  }
  if (beside == 1 && setup.lu.grid.nprow == 1)
    all.push_back({"the sum of panel, rows and update in phases, on average,",
                   r.panel.average + r.rows.average + r.update.average, 0, lu});
  all.push_back({"the sum of solves and residuals in phases, on average,",
                 r.solves.average + r.residuals.average, 0, after});
  return all;
}

/// The times of the updates by their rates, where each rank has one.
std::vector<Bound> updates(const Setup& setup, const BenchmarkRun& run) {
  if (std::ssize(run.update_rates) != setup.lu.grid.size()) return {};
  PhaseTime again;
  const auto ranks = static_cast<double>(run.update_rates.size());
  for (std::size_t rank = 0; rank < run.update_rates.size(); ++rank) {
    const double seconds = update_flops(setup.lu, static_cast<int>(rank)) / run.update_rates[rank];
    if (!(seconds > 0)) return {};
    again.average += seconds / ranks;
    again.maximum = std::max(again.maximum, seconds);
  }
  const PhaseTime& update = run.result.update;
  return {{"phases.update.average", update.average, again.average * (1 - repeats),
           again.average * (1 + repeats)},
          {"phases.update.maximum", update.maximum, again.maximum * (1 - repeats),
           again.maximum * (1 + repeats)}};
}

/// The system's clock at the beginning and the end of rank 0's timed part, which lies in the run's.
std::vector<Bound> meter(const BenchmarkRun& run) {
  if (!run.sensors) return {};
  const EnergyReport& energy = run.sensors->energy;
  if (std::isnan(energy.begin) && std::isnan(energy.end)) return {};
  const double seconds = energy.end - energy.begin;
  const double slack = by_other_clock(0);
  const auto begin = static_cast<double>(run.begin);
  const double end = static_cast<double>(run.end) + 1;  // whole seconds
  return {{"energy.end - energy.begin", seconds, 0, by_other_clock(run.result.seconds)},
          {"time_seconds", run.result.seconds, 0, by_other_clock(seconds) + leaves_late},
          {"energy.begin", energy.begin, begin - slack, end + slack},
          {"energy.end", energy.end, begin - slack, end + slack}};
}

/// The samples of each rank: one after the other, and those of rank 0 from before its timed part.
std::vector<Bound> samples(const BenchmarkRun& run, const ordered_json& record) {
  std::vector<Bound> all;
  for (const ordered_json& monitor : at(record, {"monitor"})) {
    const ordered_json& times = at(monitor, {"times"});
    double before = 0;
    for (const ordered_json& one : times) {
      const double time = one.is_number() ? one.get<double>() : unknown;
      all.push_back({"monitor.times", time, before, largest});
      before = time;
    }
    if (times.empty()) continue;
    const double first = number_at(monitor, {"rank"}) == 0 ? run.sensors->energy.begin : unknown;
    if (!std::isnan(first))
      all.push_back({"the first of monitor.times", times.front().get<double>(), 0,
                     first + by_other_clock(0)});
    const double taken = number_at(monitor, {"samples_taken"});
    all.push_back({"the number of monitor.times", static_cast<double>(times.size()), 1, taken});
    for (const ordered_json& series : at(monitor, {"series"})) {
      all.push_back({"monitor.series.count", number_at(series, {"count"}), 0, taken});
      const double margin = repeats * std::abs(number_at(series, {"mean"}));
      if (number_at(series, {"count"}) > 0)
        all.push_back({"monitor.series.mean", number_at(series, {"mean"}),
                       number_at(series, {"minimum"}) - margin,
                       number_at(series, {"maximum"}) + margin});
    }
  }
  return all;
}

}  // namespace

std::vector<BoundList> bounds_of(const Setup& setup, const BenchmarkRun& run,
                                 const ordered_json& record) {
  return {{"its figures are possible", possible(setup, run)},
          {"its memory holds the factors", memory(setup, run)},
          {"its refinement has an error for each iteration", refinement(run.result)},
          {"its phases are parts of its time", phases(setup, run.result)},
          {"its updates took the time of their rates", updates(setup, run)},
          {"its time is that of the energy meter's clock", meter(run)},
          {"its samples are from its time", samples(run, record)}};
}

}  // namespace speedwell
