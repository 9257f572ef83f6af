// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// NVML, the management library of NVIDIA's driver: power, energy, clocks, temperature, links and
/// errors of GPUs. It is opened at run time, and its functions are called by their names, since its
/// header is missing in most toolkits; those used here have kept their arguments since they exist
/// (NVML API Reference Guide, "Device Queries" and "NvLink Methods").
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "sensors/sensed.hpp"

namespace speedwell {

/// What a GPU shows at one moment.
struct GpuReading {
  /// W, to within 5 W. A mean of the last second on Ampere's GPUs after GA100 and later ones.
  Sensed<> watts;
  Sensed<> celsius;             ///< of the GPU's die, in whole degrees
  Sensed<> utilization;         ///< share of the last period of NVML (1/6 to 1 s) with a kernel
  Sensed<> memory_utilization;  ///< share of that period with an access to memory
  Sensed<> sm_mhz;
  Sensed<> memory_mhz;
  /// Why the SM clock is not higher: a bit for each of throttle_reasons.
  Sensed<std::uint64_t> throttle;
  Sensed<> pcie_generation;  ///< as it is now: lower than the highest while the link saves power
  Sensed<> pcie_width;       ///< lanes
};

/// What changes seldom: the limit, links, and errors, which are counted since the driver was
/// loaded.
struct GpuState {
  Sensed<> power_limit_watts;    ///< the limit in force
  Sensed<> max_pcie_generation;  ///< of GPU and slot: a link with less is a fault
  Sensed<> max_pcie_width;
  Sensed<> pcie_replays;  ///< packets that PCIe sent again
  Sensed<> nvlinks_up;
  Sensed<> nvlinks_down;
  Sensed<> nvlink_errors;  ///< of the links that are up: replays, recoveries, wrong checksums
  Sensed<> ecc_corrected;  ///< errors of the memory
  Sensed<> ecc_uncorrected;
  Sensed<> rows_remapped_corrected;  ///< rows of the memory replaced, since the GPU was made
  Sensed<> rows_remapped_uncorrected;
  Sensed<> remap_pending;  ///< 1 where a row waits for a reset to be replaced, otherwise 0
  Sensed<> remap_failed;   ///< 1 where there was no spare row, otherwise 0
};

/// Calls f(name, figure) for each figure of a GpuState, for JSON.
template <class F>
void for_each_figure(const GpuState& s, F f) {
  f("power_limit_watts", s.power_limit_watts);
  f("max_pcie_generation", s.max_pcie_generation);
  f("max_pcie_width", s.max_pcie_width);
  f("pcie_replays", s.pcie_replays);
  f("nvlinks_up", s.nvlinks_up);
  f("nvlinks_down", s.nvlinks_down);
  f("nvlink_errors", s.nvlink_errors);
  f("ecc_corrected", s.ecc_corrected);
  f("ecc_uncorrected", s.ecc_uncorrected);
  f("rows_remapped_corrected", s.rows_remapped_corrected);
  f("rows_remapped_uncorrected", s.rows_remapped_uncorrected);
  f("remap_pending", s.remap_pending);
  f("remap_failed", s.remap_failed);
}

/// One GPU. A copy is another name for the same GPU. Any thread may call it at any time.
class GpuSensor {
 public:
  /// Takes a fraction of a millisecond; some drivers need some milliseconds.
  GpuReading read() const;
  GpuState state() const;
  /// Energy in J since the driver was loaded: a counter of mJ that the GPU refreshes some 10 to 50
  /// times a second, from Volta on.
  Sensed<> joules() const;
  /// Power alone, as in GpuReading.
  Sensed<> watts() const;
  Sensed<std::string> uuid() const;

 private:
  friend class Nvml;
  GpuSensor(void* library, void* gpu) : library_(library), gpu_(gpu) {}
  /// What the function `name` of NVML fills in, behind other arguments, divided by `unit`.
  template <class Number, class... Before>
  Sensed<> number(const char* name, double unit, Before... before) const;
  void read_links(GpuState& state) const;

  void* library_;
  void* gpu_;
};

/// The library. It stays loaded until the process ends, since threads may be inside of it.
class Nvml {
 public:
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  /// Why it cannot be used, in words; empty if it can.
  const std::string& why_none() const { return why_none_; }
  Sensed<std::string> driver_version() const;
  /// The GPUs that NVML shows, CUDA_VISIBLE_DEVICES or not.
  std::vector<GpuSensor> gpus() const;
  /// @param id the PCI bus id as CUDA spells it, "0000:65:00.0", or the beginning of a UUID
  Sensed<GpuSensor> gpu(const std::string& id) const;

 private:
  void* library_ = nullptr;
  std::string why_none_;
};

/// The library of this process, which the first call opens: this can take a second.
const Nvml& nvml();

/// Whether a GPU's UUID begins so, with or without dashes, in any case.
bool uuid_begins(const std::string& uuid, const std::string& beginning);

/// A reason why a GPU's clock is not higher.
struct ThrottleReason {
  std::string_view name;  ///< nearly NVML's: "sw_thermal_slowdown"
  std::string_view words;
};
/// The reasons in the order of NVML's bits (nvmlClocksEventReasons).
inline constexpr std::array<ThrottleReason, 9> throttle_reasons{{
    {"gpu_idle", "idle"},
    {"applications_clocks", "clocks set by the user"},
    {"sw_power_cap", "power limit"},
    {"hw_slowdown", "slowed down by the hardware"},
    {"sync_boost", "slowed down with other GPUs (sync boost)"},
    {"sw_thermal_slowdown", "thermal throttling"},
    {"hw_thermal_slowdown", "thermal throttling by the hardware"},
    {"hw_power_brake", "power brake"},
    {"display_clock", "limited by the display"},
}};
/// The bit of a GPU that has nothing to do.
inline constexpr std::uint64_t throttle_idle = 1;
/// "power limit, thermal throttling"; empty for no reason.
std::string throttle_words(std::uint64_t bits);

}  // namespace speedwell
