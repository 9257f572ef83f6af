// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/energy_counter.hpp"

#include <optional>
#include <utility>

namespace speedwell {

namespace {

constexpr const char* powercap = "/sys/class/powercap/";
constexpr const char* pm_counters = "/sys/cray/pm_counters/";
// No processor's package takes more than this.
constexpr double most_watts = 2000;

/// A domain that cannot be read.
EnergyCounter unread(EnergyDomain domain, const std::string& why) {
  return {std::move(domain), [why] { return Sensed<>::none(why); }};
}

/// A zone of RAPL, which counts from 0 to its range in uJ, and then again from 0.
EnergyCounter rapl_zone(const SystemFiles& files, const std::string& zone, EnergyDomain domain) {
  const std::string folder = powercap + zone;
  const Sensed<std::uint64_t> range = files.number(folder + "/max_energy_range_uj");
  if (!range) return unread(std::move(domain), range.why_none());
  const auto joules = [files, file = folder + "/energy_uj", most = *range,
                       last = std::optional<std::uint64_t>(),
                       total = std::uint64_t{0}]() mutable -> Sensed<> {
    const Sensed<std::uint64_t> count = files.number(file);
    if (!count) return Sensed<>::none(count.why_none());
    if (*count > most) return Sensed<>::none("energy_uj is beyond its range");
    if (last) total += *count >= *last ? *count - *last : most - *last + *count;
    last = *count;
    return static_cast<double>(total) / 1e6;
  };
  return {std::move(domain), joules, static_cast<double>(*range) / 1e6 / most_watts};
}

void add_rapl(const SystemFiles& files, std::vector<EnergyCounter>& counters) {
  bool hidden = false;
  for (const std::string& zone : files.names(powercap)) {
    // "intel-rapl:0" is a package, on AMD's processors too, and "intel-rapl:0:1" a part of it.
    if (!zone.starts_with("intel-rapl:")) continue;
    const std::string parent = zone.substr(0, zone.rfind(':'));
    const Sensed<std::string> read_name = files.text(powercap + zone + "/name");
    hidden = hidden || !read_name;
    const std::string zone_name = read_name.value().value_or("");
    if (parent == "intel-rapl" && zone_name.starts_with("package"))
      counters.push_back(
          rapl_zone(files, zone, {zone_name, EnergyKind::package, EnergySource::rapl}));
    if (parent != "intel-rapl" && zone_name == "dram")
      counters.push_back(
          rapl_zone(files, zone,
                    {files.text(powercap + parent + "/name").value().value_or(parent) + " dram",
                     EnergyKind::dram, EnergySource::rapl}));
  }
  if (counters.empty())
    counters.push_back(
        unread({"packages", EnergyKind::package, EnergySource::rapl},
               hidden ? "RAPL's files are hidden, as in most containers"
                      : "this machine offers no RAPL counters, as most virtual machines do"));
}

/// All files are written anew together, and then freshness counts on: a value between two equal
/// ones is whole.
Sensed<> pm_joules(const SystemFiles& files, const std::string& file) {
  Sensed<std::uint64_t> value;
  for (int tries = 0; tries < 3; ++tries) {
    const Sensed<std::uint64_t> before = files.number(std::string(pm_counters) + "freshness");
    value = files.number(file);
    const Sensed<std::uint64_t> after = files.number(std::string(pm_counters) + "freshness");
    if (before.value() == after.value()) break;
  }
  return value ? Sensed<>(static_cast<double>(*value)) : Sensed<>::none(value.why_none());
}

void add_pm_counters(const SystemFiles& files, std::vector<EnergyCounter>& counters) {
  for (const std::string& file : files.names(pm_counters)) {
    EnergyDomain domain{file.substr(0, file.find('_')), EnergyKind::gpu, EnergySource::pm_counters};
    if (file == "energy")
      domain = {"node", EnergyKind::node, EnergySource::pm_counters};
    else if (file == "cpu_energy")
      domain.kind = EnergyKind::package;
    else if (file == "memory_energy")
      domain.kind = EnergyKind::dram;
    else if (!file.starts_with("accel") || !file.ends_with("_energy"))
      continue;  // "accel0_energy" is a GPU's
    counters.push_back(
        {std::move(domain), [files, path = pm_counters + file] { return pm_joules(files, path); }});
  }
}

}  // namespace

std::string_view name(EnergyKind kind) {
  switch (kind) {
    case EnergyKind::gpu:
      return "GPU";
    case EnergyKind::package:
      return "package";
    case EnergyKind::dram:
      return "DRAM";
    case EnergyKind::node:
      break;
  }
  return "node";
}

std::string_view name(EnergySource source) {
  switch (source) {
    case EnergySource::nvml:
      return "NVML energy counter";
    case EnergySource::rapl:
      return "RAPL";
    case EnergySource::pm_counters:
      break;
  }
  return "pm_counters";
}

EnergyCounter gpu_energy(const Sensed<GpuSensor>& gpu, std::string name) {
  EnergyDomain domain{std::move(name), EnergyKind::gpu, EnergySource::nvml};
  if (!gpu) return unread(std::move(domain), gpu.why_none());
  return {std::move(domain), [sensor = *gpu] { return sensor.joules(); }};
}

std::vector<EnergyCounter> node_energy(const SystemFiles& files) {
  std::vector<EnergyCounter> counters;
  add_rapl(files, counters);
  add_pm_counters(files, counters);
  return counters;
}

}  // namespace speedwell
