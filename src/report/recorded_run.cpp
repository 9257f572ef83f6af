// SPDX-License-Identifier: BSD-3-Clause
#include "report/recorded_run.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <ctime>
#include <limits>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/option_fields.hpp"
#include "core/option_range.hpp"
#include "report/json_fields.hpp"
#include "report/recorded_sensors.hpp"
#include "setup/footprint.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr std::int64_t most_ranks = 100'000'000;

[[noreturn]] void refuse(std::string_view name, const ordered_json& found, const char* allowed) {
  throw UsageError(
      fmt::format("'{}' of the report is {}; allowed: {}", name, found.dump(), allowed));
}

template <class Value>
void read(std::string_view name, const ordered_json& found, Value& value) {
  if constexpr (std::is_enum_v<Value>) {
    const auto known = found.is_string() ? parse<Value>(found.get<std::string>()) : std::nullopt;
    if (!known) refuse(name, found, allowed_names<Value>().c_str());
    value = *known;
  } else if constexpr (std::same_as<Value, bool>) {
    if (!found.is_boolean()) refuse(name, found, "true, false");
    value = found.get<bool>();
  } else if constexpr (std::integral<Value>) {
    if (!found.is_number_integer()) refuse(name, found, "a whole number");
    value = found.get<Value>();
    if (ordered_json(value) != found) refuse(name, found, "a smaller number");
  } else if constexpr (std::floating_point<Value>) {
    if (!found.is_number() && !found.is_null()) refuse(name, found, "a number");
    value = found.is_null() ? unknown : found.get<double>();
  } else if constexpr (std::same_as<Value, std::string>) {
    if (!found.is_string()) refuse(name, found, "a text");
    value = found.get<std::string>();
  } else {
    if (!found.is_array()) refuse(name, found, "a list");
    value.clear();
    for (const ordered_json& one : found) read(name, one, value.emplace_back());
  }
}

template <class Value>
void read_at(const ordered_json& document, const char* name, Value& value) {
  read(name, at(document, {name}), value);
}

/// The time of utc_text().
std::time_t time_at(const ordered_json& document, const char* name) {
  const ordered_json& found = at(document, {name});
  const double time = recorded_time(found);
  if (!(time == std::floor(time))) refuse(name, found, "a time as 2026-11-29T18:00:00Z");
  return static_cast<std::time_t>(time);
}

template <class Value>
void require_possible(std::string_view name, const ordered_json& found, const Value& value) {
  if constexpr (std::is_arithmetic_v<Value> && !std::same_as<Value, bool>)
    if (!is_allowed(range_of(name), value))
      refuse(name, found, range_text<Value>(range_of(name)).c_str());
}

/// The number there, from `least` to `most`.
std::int64_t whole_at(const ordered_json& document, const char* name, std::int64_t least,
                      std::int64_t most) {
  std::int64_t value = 0;
  read_at(document, name, value);
  if (value < least || value > most)
    refuse(name, value, fmt::format("{} to {}", least, most).c_str());
  return value;
}

/// The plan of the LU. The record has all of it but what the devices can: that is taken by which
/// the memory of a rank is the recorded one, where there is such a plan.
void recall_plan(Setup& setup, const ordered_json& document) {
  const BenchmarkOptions& o = setup.options;
  constexpr std::int64_t most_n = 1'000'000'000;  // whose square times 8 bytes is no overflow
  whole_at(document, "n", 1, most_n);
  LuPlan& lu = setup.lu;
  lu = {.n = o.n,
        .nb = std::min(whole_at(document, "nb", 1, std::numeric_limits<std::int64_t>::max()), o.n),
        .width = whole_at(document, "panel_width", 1, o.n),
        .grid = {static_cast<int>(whole_at(document, "nprow", 1, most_ranks)),
                 static_cast<int>(whole_at(document, "npcol", 1, most_ranks)), o.run.order},
        .device = o.run.device,
        .precision = o.precision,
        .pivoting = o.pivoting,
        .lookahead = o.run.lookahead,
        .chunk = o.run.chunk,
        .leaf = o.leaf,
        .ndiv = o.ndiv,
        .broadcast = o.run.broadcast,
        .fp64 = o.run.fp64,
        .staged = o.run.comm == CommMethod::staged};
  if (lu.device == DeviceKind::automatic || lu.precision == Precision::automatic)
    refuse("device", document["device"], "a device and a precision, none of them auto");
  const double needed = number_at(document, {"memory", "needed_per_rank_bytes"});
  for (const bool native : {true, false})
    for (const bool overlaps : {true, false}) {
      lu.native = native;
      lu.overlaps = overlaps;
      if (std::floor(rank_bytes(lu)) == needed) return;
    }
}

/// What else the head of a report says, and why values were chosen, as far as the record has it.
void recall_head(Setup& setup, const ordered_json& document) {
  const auto source = [&](const char* name, std::string& reason) {
    read_at(at(document, {"sources"}), name, reason);
    if (reason == "given") reason.clear();
  };
  source("precision", setup.reasons.precision);
  source("nb", setup.reasons.nb);
  source("lookahead", setup.reasons.lookahead);
  source("chunk", setup.reasons.chunk);
  read_at(document, "device_description", setup.machine.device);
  if (const ordered_json& fp64 = at(document, {"fp64_products"}); !fp64.is_null())
    read("fp64_products", fp64, setup.machine.fp64);
  const ordered_json& memory = at(document, {"memory"});
  MemoryBudget& budget = setup.budget;
  read_at(memory, "free_per_rank_bytes", budget.rank_free);
  read_at(memory, "free_shared_bytes", budget.shared_free);
  read_at(memory, "ranks_sharing", budget.sharing);
  read_at(memory, "host", budget.host);
  read_at(memory, "bound", budget.bound);
  budget.on_device = budget.bound.starts_with("GPU ");
}

/// The nodes that no line about a rank names, as hosts of ranks that no line names.
void recall_hosts(std::vector<std::string>& hosts, const ordered_json& document) {
  std::vector<std::string> nodes;
  read_at(document, "hosts", nodes);
  if (nodes.empty()) refuse("hosts", document["hosts"], "at least one host");
  if (hosts.front().empty()) hosts.front() = nodes.front();
  for (const std::string& node : nodes) {
    const auto open = std::ranges::find(hosts, std::string());
    if (open != hosts.end() && std::ranges::find(hosts, node) == hosts.end()) *open = node;
  }
  std::ranges::replace(hosts, std::string(), nodes.front());
}

/// The configuration. Options that have no effect on it are not in the document.
Setup recorded_setup(const ordered_json& document) {
  Setup setup;
  BenchmarkOptions& o = setup.options;
  read_at(document, "benchmark", o.benchmark);
  for_each_option(o, [&](std::string_view name, auto& value) {
    const std::string key(name);
    if (key == "gpus" || !document.contains(key)) return;
    read(name, document[key], value);
    require_possible(name, document[key], value);
  });
  if (const ordered_json& gpus = at(document, {"asked", "gpus"}); !gpus.is_null())
    read("asked.gpus", gpus, o.run.gpus);
  const std::int64_t ranks = whole_at(document, "ranks", 1, most_ranks);
  setup.machine.hosts.resize(static_cast<std::size_t>(ranks));
  if (document.contains("gpus")) {
    read_at(document, "gpus", setup.machine.gpus);
    read_at(document, "rank_hosts", setup.machine.hosts);
    if (std::ssize(setup.machine.gpus) != ranks || std::ssize(setup.machine.hosts) != ranks)
      refuse("ranks", ranks, "as many as there are in 'gpus' and 'rank_hosts'");
  }
  recall_plan(setup, document);
  recall_head(setup, document);
  return setup;
}

std::optional<RankBytes> peak_at(const ordered_json& run, const char* kind,
                                 std::vector<std::string>& hosts) {
  const ordered_json& found = at(run, {"memory_peak", kind});
  if (found.is_null()) return std::nullopt;
  RankBytes most;
  read_at(found, "bytes", most.bytes);
  most.rank = static_cast<int>(whole_at(found, "rank", 0, std::ssize(hosts) - 1));
  read_at(found, "host", hosts[static_cast<std::size_t>(most.rank)]);
  return most;
}

PhaseTime phase_at(const ordered_json& run, const char* name, std::vector<std::string>& hosts) {
  const ordered_json& found = at(run, {"phases", name});
  PhaseTime phase;
  read_at(found, "average", phase.average);
  read_at(found, "maximum", phase.maximum);
  phase.slowest_rank = static_cast<int>(whole_at(found, "slowest_rank", 0, std::ssize(hosts) - 1));
  read_at(found, "slowest_host", hosts[static_cast<std::size_t>(phase.slowest_rank)]);
  return phase;
}

BenchmarkRun recorded_run(const ordered_json& run, Setup& setup) {
  BenchmarkRun recorded;
  recorded.begin = time_at(run, "start");
  recorded.end = time_at(run, "end");
  BenchmarkResult& r = recorded.result;
  r.chosen = setup.options;
  read_at(run, "time_seconds", r.seconds);
  read_at(run, "gflops", r.gflops);
  read_at(at(run, {"lu"}), "seconds", r.lu_seconds);
  read_at(at(run, {"lu"}), "gflops", r.lu_gflops);
  const bool mxp = r.chosen.benchmark == Benchmark::mxp;
  const ordered_json& after = at(run, {mxp ? "refinement" : "solve"});
  read_at(after, "seconds", r.refine_seconds);
  if (mxp) {
    read_at(after, "method", r.method);
    read_at(after, "iterations", r.iterations);
    read_at(after, "history", r.history);
  }
  const std::pair<const char*, PhaseTime&> phases[] = {
      {"panel", r.panel},   {"rows", r.rows},     {"broadcast_exposed", r.broadcast},
      {"update", r.update}, {"solves", r.solves}, {"residuals", r.residuals}};
  for (const auto& [name, phase] : phases)
    if (mxp || &phase != &r.residuals) phase = phase_at(run, name, setup.machine.hosts);
  recorded.peak = {peak_at(run, "resident", setup.machine.hosts),
                   peak_at(run, "device", setup.machine.hosts)};
  read_at(run, "large_pages_bytes", recorded.large_pages);
  read_at(run, "update_rates", recorded.update_rates);
  recorded.sensors = recorded_sensors(run, setup.machine.hosts.size());
  r.norms = {number_at(run, {"norms", "A_inf"}), number_at(run, {"norms", "x_inf"}),
             number_at(run, {"norms", "b_inf"}), number_at(run, {"norms", "residual_inf"})};
  r.scaled_residual = number_at(run, {"scaled_residual"});
  if (const ordered_json& pivot = at(run, {"bad_pivot"}); !pivot.is_null())
    read("bad_pivot", pivot, r.bad_pivot);
  read_at(run, "passed", r.passed);
  read_at(run, "admissible", r.admissible);
  read_at(run, "notes", r.notes);
  return recorded;
}

}  // namespace

Measured recorded_runs(const ordered_json& document) {
  Measured measured{recorded_setup(document), {}};
  const ordered_json& runs = at(document, {"runs"});
  if (!runs.is_array() || runs.empty()) refuse("runs", runs, "a list of runs");
  for (const ordered_json& run : runs) measured.runs.push_back(recorded_run(run, measured.setup));
  recall_hosts(measured.setup.machine.hosts, document);
  return measured;
}

}  // namespace speedwell
