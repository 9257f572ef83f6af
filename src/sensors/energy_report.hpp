// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The energy of a run, from the domains of all ranks: plain values, of which text and JSON are
/// made. The caller has gathered the domains of the ranks.
#pragma once

#include <string>
#include <vector>

#include "core/numbers.hpp"
#include "sensors/energy_meter.hpp"

namespace speedwell {

/// What the sums contain, to stand beside them: memory, network, cooling and losses of the power
/// supplies are missing.
inline constexpr const char* energy_scope =
    "GPUs and CPU packages only; not a Green500 measurement";

/// A domain of one rank.
struct EnergyPart {
  MeteredDomain metered;  ///< J in each phase, or why not
  std::string node;
  int rank = -1;        ///< the rank that read it
  bool summed = false;  ///< whether the sums contain it
};

struct NodeEnergy {
  std::string node;
  std::vector<Sensed<>> sum;      ///< J of its parts that are summed, in each phase
  std::vector<Sensed<>> counter;  ///< J of the whole node by pm_counters; empty without them
};

struct EnergyReport {
  std::vector<std::string> phases;  ///< such as "lu", "refinement"
  std::vector<EnergyPart> parts;    ///< as they were given
  std::vector<NodeEnergy> nodes;    ///< in the order of the parts
  std::vector<Sensed<>> sum;        ///< J of all nodes, in each phase
  std::vector<std::string>
      missing;             ///< what the sums lack: "package on node12: ..."; empty: nothing
  double begin = unknown;  ///< of the timed part, in seconds since 1970
  double end = unknown;
};

/// Adds up GPUs and packages. What NVML or RAPL tells of a node goes before what pm_counters tell,
/// unless these alone are complete. A part without a figure in some phase is in none of the sums.
/// @param parts with a figure for each phase
/// @pre each part has as many figures as there are phases
EnergyReport energy_report(std::vector<std::string> phases, std::vector<EnergyPart> parts,
                           double begin, double end);

/// Of all phases together, J; none if one of them is.
Sensed<> total_joules(const std::vector<Sensed<>>& joules);

/// 10^9 operations for each joule, which is GFLOP/s for each watt.
/// @param joules > 0, or it is none
Sensed<> gflops_per_watt(double operations, const Sensed<>& joules);

}  // namespace speedwell
