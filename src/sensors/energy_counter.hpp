// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Energy of GPUs, processors, memory and nodes.
///
/// | source | what | step and error |
/// |---|---|---|
/// | NVML's counter | a GPU with its memory | 1 mJ, refreshed some 10 to 50 times a second |
/// | RAPL | a processor's package, or its DRAM | 61 uJ or less, refreshed every ms |
/// | pm_counters | an HPE Cray's node, or parts of it | 1 J, refreshed 10 times a second |
///
/// NVIDIA states no error for its counter. RAPL measures on Intel's processors from Haswell on, and
/// computes from activity on earlier ones and on AMD's up to Zen 2 at least.
/// Sources: NVML API Reference Guide; Linux, Documentation/power/powercap/powercap.rst; HPE Cray,
/// Monitoring and Managing Power Consumption (S-0043).
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "sensors/nvml.hpp"
#include "sensors/sensed.hpp"
#include "sensors/system_file.hpp"

namespace speedwell {

enum class EnergyKind { gpu, package, dram, node };
enum class EnergySource { nvml, rapl, pm_counters };
/// "GPU", "package", "DRAM", "node".
std::string_view name(EnergyKind kind);
/// "NVML energy counter", "RAPL", "pm_counters".
std::string_view name(EnergySource source);

/// A part of a machine whose energy is counted.
struct EnergyDomain {
  std::string name;  ///< "GPU 0", "package-0", "package-0 dram", "node"
  EnergyKind kind = EnergyKind::gpu;
  EnergySource source = EnergySource::nvml;
};

struct EnergyCounter {
  EnergyDomain domain;
  /// J since some moment: only differences have a meaning. Not for two threads at once.
  std::function<Sensed<>()> joules;
  /// Seconds between two calls of joules() beyond which their difference may be wrong.
  double longest_gap = std::numeric_limits<double>::infinity();
};

/// A GPU's energy by NVML's counter. One that cannot be read says why.
/// @param name of the domain, such as "GPU 0"
EnergyCounter gpu_energy(const Sensed<GpuSensor>& gpu, std::string name);

/// The counters of this node: RAPL's packages and their DRAM, and pm_counters where they are. The
/// node's first rank reads them, others would count them again. RAPL's "psys" is left out, which
/// contains the packages, and intel-rapl-mmio, which is the same package by another way. Without
/// RAPL, there is one domain that says why.
std::vector<EnergyCounter> node_energy(const SystemFiles& files = SystemFiles());

}  // namespace speedwell
