// SPDX-License-Identifier: BSD-3-Clause
#include "document/sensor_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>

#include "document/report_parts.hpp"
#include "io/text.hpp"

namespace speedwell {

using nlohmann::ordered_json;

namespace {

/// Joules of all phases; none where a GPU or a package is missing, with the first reason.
Sensed<> whole_sum(const EnergyReport& energy) {
  if (energy.missing.empty()) return total_joules(energy.sum);
  const std::size_t more = energy.missing.size() - 1;
  return Sensed<>::none(energy.missing.front() +
                        (more > 0 ? fmt::format(", and {} more", more) : ""));
}

/// "2026-11-21T18:00:00.250Z"
std::string precise_utc(double time) {
  const double all = std::round(time * 1e3);
  const double whole = std::floor(all / 1e3);
  std::string text = utc_text(static_cast<std::time_t>(whole));
  return text.insert(text.size() - 1, fmt::format(".{:03.0f}", all - 1e3 * whole));
}

ordered_json or_null(const Sensed<>& figure) {
  return figure ? ordered_json(*figure) : ordered_json();
}

ordered_json reason(const Sensed<>& figure) {
  return figure ? ordered_json() : ordered_json(figure.why_none());
}

ordered_json by_phase(const EnergyReport& energy, const std::vector<Sensed<>>& joules) {
  ordered_json all = ordered_json::object();
  for (std::size_t i = 0; i < energy.phases.size(); ++i)
    all[energy.phases[i]] = i < joules.size() ? or_null(joules[i]) : ordered_json();
  return all;
}

ordered_json json_of(const EnergyReport& energy, const EnergyPart& part) {
  const EnergyDomain& domain = part.metered.domain;
  return {{"name", domain.name},
          {"kind", name(domain.kind)},
          {"source", name(domain.source)},
          {"host", part.node},
          {"rank", part.rank},
          {"joules", by_phase(energy, part.metered.joules)},
          {"in_sum", part.summed},
          {"why_null", reason(total_joules(part.metered.joules))}};
}

}  // namespace

std::string energy_text(const EnergyReport& energy, double flops) {
  const Sensed<> all = whole_sum(energy);
  if (!all) return "not known: " + all.why_none();
  std::string text = fmt::format("{:.4g} J:", *all);
  for (std::size_t i = 0; i < energy.phases.size(); ++i)
    text += fmt::format("{} {} {:.4g}", i == 0 ? "" : ",", energy.phases[i], *energy.sum[i]);
  if (const Sensed<> rate = gflops_per_watt(flops, all))
    text += fmt::format("; {:.4g} GFLOPS/W", *rate);
  return text + fmt::format(" ({})", energy_scope);
}

std::string energy_times(const EnergyReport& energy) {
  if (!(energy.end >= energy.begin)) return "";
  std::string text =
      fmt::format("timed part {} to {}", precise_utc(energy.begin), precise_utc(energy.end));
  double nodes = 0;
  std::size_t counted = 0;
  for (const NodeEnergy& node : energy.nodes)
    if (const Sensed<> joules = total_joules(node.counter); joules && !node.counter.empty()) {
      nodes += *joules;
      ++counted;
    }
  if (counted > 0)
    text += fmt::format("; {} of {} whole nodes by pm_counters: {:.4g} J", counted,
                        energy.nodes.size(), nodes);
  return text;
}

ordered_json json_of(const std::optional<EnergyReport>& energy, double flops) {
  if (!energy) return {};
  const Sensed<> all = whole_sum(*energy);
  const Sensed<> rate = gflops_per_watt(flops, all);
  ordered_json parts = ordered_json::array();
  for (const EnergyPart& part : energy->parts) parts.push_back(json_of(*energy, part));
  ordered_json nodes = ordered_json::array();
  for (const NodeEnergy& node : energy->nodes)
    nodes.push_back({{"host", node.node},
                     {"joules", by_phase(*energy, node.sum)},
                     {"pm_counters_joules", by_phase(*energy, node.counter)}});
  const bool timed = energy->end >= energy->begin;
  return {{"scope", energy_scope},
          {"joules", or_null(all)},
          {"joules_by_phase", by_phase(*energy, all ? energy->sum : std::vector<Sensed<>>())},
          {"gflops_per_watt", or_null(rate)},
          {"why_null", reason(rate)},
          {"begin", timed ? ordered_json(precise_utc(energy->begin)) : ordered_json()},
          {"end", timed ? ordered_json(precise_utc(energy->end)) : ordered_json()},
          {"domains", std::move(parts)},
          {"nodes", std::move(nodes)},
          {"missing", energy->missing}};
}

}  // namespace speedwell
