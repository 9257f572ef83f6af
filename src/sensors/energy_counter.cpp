// SPDX-License-Identifier: BSD-3-Clause
#include "sensors/energy_counter.hpp"

#include <limits>
#include <optional>
#include <utility>

namespace speedwell {

namespace {

constexpr const char* powercap = "/sys/class/powercap/";
constexpr const char* pm_counters = "/sys/cray/pm_counters/";
// No processor's package takes more than this.
constexpr double most_watts = 2000;
// Longest time between two samples of a power that is integrated.
constexpr double longest_step = 2;

/// A domain that cannot be read.
class NoCounter final : public EnergyCounter {
 public:
  NoCounter(EnergyDomain domain, std::string why)
      : EnergyCounter(std::move(domain)), why_(std::move(why)) {}
  Sensed<> joules() override { return Sensed<>::none(why_); }

 private:
  std::string why_;
};

class NvmlCounter final : public EnergyCounter {
 public:
  NvmlCounter(std::string name, const GpuSensor& gpu)
      : EnergyCounter({std::move(name), EnergyKind::gpu, EnergySource::nvml_energy}), gpu_(gpu) {}
  Sensed<> joules() override { return gpu_.joules(); }

 private:
  GpuSensor gpu_;
};

/// Integrates power by the trapezoidal rule.
class SampledPower final : public EnergyCounter {
 public:
  SampledPower(std::string name, const GpuSensor& gpu, const Clock& clock)
      : EnergyCounter({std::move(name), EnergyKind::gpu, EnergySource::nvml_power}),
        gpu_(gpu),
        clock_(clock) {}

  Sensed<> joules() override {
    Sensed<> watts = gpu_.watts();
    if (!watts) return watts;
    const double now = clock_.now();
    if (watts_) joules_ += (*watts + *watts_) / 2 * (now - time_);
    watts_ = *watts;
    time_ = now;
    return joules_;
  }
  double longest_gap() const override { return longest_step; }

 private:
  GpuSensor gpu_;
  const Clock& clock_;
  std::optional<double> watts_;  // at time_
  double time_ = 0;
  double joules_ = 0;
};

/// A zone of RAPL, which counts from 0 to its range in uJ, and then again from 0.
class RaplZone final : public EnergyCounter {
 public:
  RaplZone(EnergyDomain domain, SystemFiles files, std::string file, std::uint64_t range)
      : EnergyCounter(std::move(domain)),
        files_(std::move(files)),
        file_(std::move(file)),
        range_(range) {}

  Sensed<> joules() override {
    const Sensed<std::uint64_t> count = files_.number(file_);
    if (!count) return Sensed<>::none(count.why_none());
    if (*count > range_) return Sensed<>::none("energy_uj is beyond its range");
    if (last_) total_ += *count >= *last_ ? *count - *last_ : range_ - *last_ + *count;
    last_ = *count;
    return static_cast<double>(total_) / 1e6;
  }
  double longest_gap() const override { return static_cast<double>(range_) / 1e6 / most_watts; }

 private:
  SystemFiles files_;
  std::string file_;
  std::uint64_t range_;
  std::optional<std::uint64_t> last_;
  std::uint64_t total_ = 0;
};

class PmCounter final : public EnergyCounter {
 public:
  PmCounter(EnergyDomain domain, SystemFiles files, std::string file)
      : EnergyCounter(std::move(domain)), files_(std::move(files)), file_(std::move(file)) {}

  Sensed<> joules() override {
    // All files are written anew together, and then freshness counts on: a value between two equal
    // ones is whole.
    Sensed<std::uint64_t> value;
    for (int tries = 0; tries < 3; ++tries) {
      const Sensed<std::uint64_t> before = files_.number(std::string(pm_counters) + "freshness");
      value = files_.number(file_);
      const Sensed<std::uint64_t> after = files_.number(std::string(pm_counters) + "freshness");
      if (before.value() == after.value()) break;
    }
    return value ? Sensed<>(static_cast<double>(*value)) : Sensed<>::none(value.why_none());
  }

 private:
  SystemFiles files_;
  std::string file_;
};

std::unique_ptr<EnergyCounter> rapl_zone(const SystemFiles& files, const std::string& zone,
                                         EnergyDomain domain) {
  const std::string folder = powercap + zone;
  const Sensed<std::uint64_t> range = files.number(folder + "/max_energy_range_uj");
  if (!range) return std::make_unique<NoCounter>(std::move(domain), range.why_none());
  return std::make_unique<RaplZone>(std::move(domain), files, folder + "/energy_uj", *range);
}

void add_rapl(const SystemFiles& files, EnergyCounters& counters) {
  bool hidden = false;
  for (const std::string& zone : files.names(powercap)) {
    // "intel-rapl:0" is a package, on AMD's processors too, and "intel-rapl:0:1" a part of it.
    if (zone.rfind("intel-rapl:", 0) != 0) continue;
    const std::string parent = zone.substr(0, zone.rfind(':'));
    const Sensed<std::string> read_name = files.text(powercap + zone + "/name");
    hidden = hidden || !read_name;
    const std::string zone_name = read_name.value().value_or("");
    if (parent == "intel-rapl" && zone_name.rfind("package", 0) == 0)
      counters.push_back(
          rapl_zone(files, zone, {zone_name, EnergyKind::package, EnergySource::rapl}));
    if (parent != "intel-rapl" && zone_name == "dram")
      counters.push_back(
          rapl_zone(files, zone,
                    {files.text(powercap + parent + "/name").value().value_or(parent) + " dram",
                     EnergyKind::dram, EnergySource::rapl}));
  }
  if (counters.empty())
    counters.push_back(std::make_unique<NoCounter>(
        EnergyDomain{"packages", EnergyKind::package, EnergySource::rapl},
        hidden ? "RAPL's files are hidden, as in most containers"
               : "this machine offers no RAPL counters, as most virtual machines do"));
}

void add_pm_counters(const SystemFiles& files, EnergyCounters& counters) {
  for (const std::string& file : files.names(pm_counters)) {
    EnergyDomain domain{file.substr(0, file.find('_')), EnergyKind::gpu, EnergySource::pm_counters};
    if (file == "energy")
      domain = {"node", EnergyKind::node, EnergySource::pm_counters};
    else if (file == "cpu_energy")
      domain.kind = EnergyKind::package;
    else if (file == "memory_energy")
      domain.kind = EnergyKind::dram;
    else if (file.rfind("accel", 0) != 0 || !file.ends_with("_energy"))
      continue;  // "accel0_energy" is a GPU's
    counters.push_back(std::make_unique<PmCounter>(std::move(domain), files, pm_counters + file));
  }
}

}  // namespace

double EnergyCounter::longest_gap() const {
  return std::numeric_limits<double>::infinity();
}

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
    case EnergySource::nvml_energy:
      return "NVML energy counter";
    case EnergySource::nvml_power:
      return "NVML power, sampled";
    case EnergySource::rapl:
      return "RAPL";
    case EnergySource::pm_counters:
      break;
  }
  return "pm_counters";
}

std::unique_ptr<EnergyCounter> gpu_energy(const Sensed<GpuSensor>& gpu, std::string name,
                                          const Clock& clock) {
  std::string why = gpu.why_none();
  if (gpu) {
    const Sensed<> energy = gpu->joules();
    if (energy) return std::make_unique<NvmlCounter>(std::move(name), *gpu);
    if (gpu->watts()) return std::make_unique<SampledPower>(std::move(name), *gpu, clock);
    why = energy.why_none();
  }
  return std::make_unique<NoCounter>(
      EnergyDomain{std::move(name), EnergyKind::gpu, EnergySource::nvml_energy}, why);
}

EnergyCounters node_energy(const SystemFiles& files) {
  EnergyCounters counters;
  add_rapl(files, counters);
  add_pm_counters(files, counters);
  return counters;
}

}  // namespace speedwell
