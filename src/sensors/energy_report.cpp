// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/energy_report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

namespace {

using Parts = std::vector<EnergyPart*>;

bool complete(const EnergyPart& part) {
  return std::all_of(part.metered.joules.begin(), part.metered.joules.end(),
                     [](const Sensed<>& joules) { return static_cast<bool>(joules); });
}

bool all_complete(const Parts& parts) {
  return !parts.empty() && std::all_of(parts.begin(), parts.end(),
                                       [](const EnergyPart* part) { return complete(*part); });
}

/// Marks the parts of one kind on one node that the sums contain, and names those that they lack.
void choose(EnergyReport& report, const std::string& node, EnergyKind kind) {
  Parts own, counted;  // by pm_counters
  for (EnergyPart& part : report.parts)
    if (const EnergyDomain& domain = part.metered.domain; part.node == node && domain.kind == kind)
      (domain.source == EnergySource::pm_counters ? counted : own).push_back(&part);
  const bool take_counted = own.empty() || (!all_complete(own) && all_complete(counted));
  for (EnergyPart* part : take_counted ? counted : own) {
    part->summed = complete(*part);
    if (part->summed) continue;
    const auto& joules = part->metered.joules;
    const auto none = std::find_if(joules.begin(), joules.end(), [](const auto& j) { return !j; });
    report.missing.push_back(
        fmt::format("{} on {}: {}", part->metered.domain.name, node, none->why_none()));
  }
}

void add(std::vector<Sensed<>>& sum, const std::vector<Sensed<>>& joules) {
  for (std::size_t phase = 0; phase < sum.size(); ++phase)
    if (joules[phase]) sum[phase] = sum[phase].value().value_or(0) + *joules[phase];
}

}  // namespace

EnergyReport energy_report(std::vector<std::string> phases, std::vector<EnergyPart> parts,
                           double begin, double end) {
  SPEEDWELL_EXPECTS(std::all_of(parts.begin(), parts.end(), [&](const EnergyPart& part) {
    return part.metered.joules.size() == phases.size();
  }));
  const std::vector<Sensed<>> nothing(phases.size(), Sensed<>::none("nothing could be read"));
  EnergyReport report{std::move(phases), std::move(parts), {}, nothing, {}, begin, end};
  for (const EnergyPart& part : report.parts)
    if (std::none_of(report.nodes.begin(), report.nodes.end(),
                     [&](const NodeEnergy& known) { return known.node == part.node; }))
      report.nodes.push_back({part.node, nothing, {}});
  for (NodeEnergy& node : report.nodes) {
    for (const EnergyKind kind : {EnergyKind::gpu, EnergyKind::package})
      choose(report, node.node, kind);
    for (const EnergyPart& part : report.parts) {
      if (part.node != node.node) continue;
      if (part.summed) add(node.sum, part.metered.joules);
      if (part.metered.domain.kind == EnergyKind::node) node.counter = part.metered.joules;
    }
    add(report.sum, node.sum);
  }
  return report;
}

Sensed<> total_joules(const std::vector<Sensed<>>& joules) {
  double sum = 0;
  for (const Sensed<>& phase : joules) {
    if (!phase) return phase;
    sum += *phase;
  }
  return sum;
}

Sensed<> gflops_per_watt(double operations, const Sensed<>& joules) {
  if (!joules) return joules;
  if (!(*joules > 0)) return Sensed<>::none("the counters have not counted on");
  return operations / *joules / 1e9;
}

}  // namespace speedwell
