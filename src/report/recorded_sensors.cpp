// SPDX-License-Identifier: BSD-3-Clause
#include "report/recorded_sensors.hpp"

#include <ctime>
#include <string>
#include <utility>
#include <vector>

#include "io/text.hpp"
#include "report/json_fields.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// Figures of the phases. @param why there is none where the record has null
std::vector<Sensed<>> figures(const ordered_json& by_phase, const std::string& why) {
  std::vector<Sensed<>> all;
  for (const auto& [phase, joules] : by_phase.items())
    all.push_back(joules.is_number() ? Sensed<>(joules.get<double>()) : Sensed<>::none(why));
  return all;
}

EnergyReport recorded_energy(const ordered_json& energy) {
  EnergyReport report;
  const ordered_json& sum = at(energy, {"joules_by_phase"});
  for (const auto& [phase, joules] : sum.items()) report.phases.push_back(phase);
  const ordered_json& why = at(energy, {"why_null"});
  report.sum = figures(sum, why.is_string() ? why.get<std::string>() : "");
  for (const ordered_json& node : at(energy, {"nodes"}))
    report.nodes.push_back({"", {}, figures(at(node, {"pm_counters_joules"}), "")});
  report.begin = recorded_time(at(energy, {"begin"}));
  report.end = recorded_time(at(energy, {"end"}));
  return report;
}

}  // namespace

double recorded_time(const ordered_json& time) {
  std::tm parts{};
  const std::string text = time.is_string() ? time.get<std::string>() : "";
  const char* rest = ::strptime(text.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (rest == nullptr || !text.ends_with('Z')) return unknown;
  const std::string fraction(rest, text.c_str() + text.size() - 1);
  const auto part = fraction.empty() ? 0. : number<double>("0" + fraction);
  if (!part || !(*part >= 0 && *part < 1)) return unknown;
  return static_cast<double>(::timegm(&parts)) + *part;
}

std::optional<SensorReport> recorded_sensors(const ordered_json& run, std::size_t ranks) {
  const ordered_json& energy = at(run, {"energy"});
  if (energy.is_null()) return std::nullopt;
  SensorReport report{recorded_energy(energy), {}};
  const ordered_json& monitors = at(run, {"monitor"});
  if (monitors.is_null()) return report;
  report.monitors.resize(ranks);
  for (const ordered_json& monitor : monitors) {
    const double rank = number_at(monitor, {"rank"});
    if (!(rank >= 0 && rank < static_cast<double>(ranks)))
      throw UsageError(fmt::format("'monitor.rank' of the report is {}; allowed: a rank",
                                   at(monitor, {"rank"}).dump()));
    report.monitors[static_cast<std::size_t>(rank)] = monitor.dump();
  }
  return report;
}

}  // namespace speedwell
