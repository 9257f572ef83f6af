// SPDX-License-Identifier: BSD-3-Clause
#include "report/recorded_run.hpp"

#include <concepts>
#include <cstdint>
#include <ctime>
#include <string_view>
#include <utility>
#include <vector>

#include "core/option_fields.hpp"
#include "report/json_fields.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

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
  std::tm parts{};
  const std::string text = found.is_string() ? found.get<std::string>() : "";
  const char* end = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') refuse(name, found, "a time as 2026-11-29T18:00:00Z");
  return ::timegm(&parts);
}

/// The configuration. Options that have no effect on it are not in the document.
Setup recorded_setup(const ordered_json& document) {
  Setup setup;
  BenchmarkOptions& o = setup.options;
  read_at(document, "benchmark", o.benchmark);
  for_each_option(o, [&](std::string_view name, auto& value) {
    const std::string key(name);
    if (key != "gpus" && document.contains(key)) read(name, document[key], value);
  });
  if (const ordered_json& gpus = at(document, {"asked", "gpus"}); !gpus.is_null())
    read("asked.gpus", gpus, o.run.gpus);
  constexpr std::int64_t most_ranks = 100'000'000;
  std::int64_t ranks = 0;
  read_at(document, "ranks", ranks);
  if (ranks < 1 || ranks > most_ranks) refuse("ranks", ranks, "1 to 100000000");
  setup.machine.hosts.resize(static_cast<std::size_t>(ranks));
  if (document.contains("gpus")) {
    read_at(document, "gpus", setup.machine.gpus);
    read_at(document, "rank_hosts", setup.machine.hosts);
    if (std::ssize(setup.machine.gpus) != ranks || std::ssize(setup.machine.hosts) != ranks)
      refuse("ranks", ranks, "as many as there are in 'gpus' and 'rank_hosts'");
  }
  return setup;
}

PhaseTime phase_at(const ordered_json& run, const char* name, std::vector<std::string>& hosts) {
  const ordered_json& found = at(run, {"phases", name});
  PhaseTime phase;
  read_at(found, "average", phase.average);
  read_at(found, "maximum", phase.maximum);
  read_at(found, "slowest_rank", phase.slowest_rank);
  if (phase.slowest_rank < 0 || phase.slowest_rank >= std::ssize(hosts))
    refuse("slowest_rank", phase.slowest_rank, "a rank");
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
  return measured;
}

}  // namespace speedwell
