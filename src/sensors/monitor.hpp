// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Samples of a process's GPUs and of the node's processors, taken beside a run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/numbers.hpp"
#include "sensors/cpu_sensor.hpp"
#include "sensors/nvml.hpp"
#include "sensors/ticker.hpp"

namespace speedwell {

/// What is sampled, in the order of a GPU's series; the last two are the processors'.
enum class Quantity {
  power,
  temperature,
  utilization,
  memory_utilization,
  sm_clock,
  memory_clock,
  pcie_generation,
  pcie_width,
  cpu_clock,
  cpu_load
};
struct QuantityTraits {
  std::string_view name;  ///< for JSON and traces, with the unit: "power_watts"
  std::string_view words;
  std::string_view unit;  ///< empty for a share or a number
};
const QuantityTraits& traits(Quantity quantity);

/// The values of one quantity of one device.
struct MonitorSeries {
  std::string device;  ///< "GPU 0", "CPUs"
  Quantity quantity = Quantity::power;
  /// One for each kept sample; `unknown` where it was not read.
  std::vector<double> values{};
  // Of all samples, those that were left out included.
  std::int64_t count = 0;  ///< samples with a value
  double minimum = unknown;
  double minimum_time = 0;  ///< of the first sample with that value, by the clock
  double maximum = unknown;
  double maximum_time = 0;
  double mean = unknown;
  std::string why_none{};  ///< why the latest value is missing that is; empty if none is
};

/// What else is known of a GPU that was watched.
struct MonitoredGpu {
  std::string device;
  /// Number of samples with each of throttle_reasons.
  std::array<std::int64_t, throttle_reasons.size()> throttled{};
  std::int64_t throttle_samples = 0;  ///< samples in which the reasons could be read
  std::string why_no_throttle{};      ///< why they could not
  GpuState before{};                  ///< before the first sample
  GpuState after{};                   ///< when record() was called
};

struct MonitorRecord {
  double seconds = 0;         ///< between two samples, as asked for
  std::vector<double> times;  ///< of the kept samples, by the clock
  std::int64_t taken = 0;     ///< samples taken: taken - times.size() were left out
  std::vector<MonitorSeries> series;
  std::vector<MonitoredGpu> gpus;
};

/// Limits beyond which a GPU is warned of, once for each GPU and limit.
struct MonitorLimits {
  std::optional<double> celsius_above{};
  std::optional<double> sm_mhz_below{};  ///< while the GPU is not idle
  std::optional<double> watts_above{};
};

struct MonitorOptions {
  double seconds = 1;           ///< between two samples, > 0
  std::size_t capacity = 4096;  ///< samples kept, >= 2. Once there are more, every second one is
                                ///< left out, and then of the next ones, too
  MonitorLimits limits{};
  /// Gets a line such as "GPU 0: temperature 91 C, above 90 C". Called by the thread that samples.
  std::function<void(const std::string&)> warn{};
};

class Monitor {
 public:
  struct Gpu {
    std::string name;  ///< "GPU 0"
    Sensed<GpuSensor> sensor;
  };

  /// @param clock must live as long as the monitor
  /// @param cpus nothing where another process of this node watches them
  /// @pre options.seconds > 0 and options.capacity >= 2
  Monitor(const Clock& clock, std::vector<Gpu> gpus, std::optional<CpuSensor> cpus,
          MonitorOptions options);

  /// Takes a sample, and starts a thread that does so every options.seconds and sleeps in between.
  void start();
  /// Ends the thread at once, or after the sample that it takes.
  void stop() { ticker_.stop(); }
  /// Takes a sample. Only one thread may call this; after start(), that is the monitor's own.
  void sample();
  /// What is known by now.
  MonitorRecord record() const;

 private:
  struct Warned {
    bool celsius = false, sm_mhz = false, watts = false;
  };
  void add(std::size_t series, const Sensed<>& figure, double now, bool keep);
  void add_throttle(MonitoredGpu& gpu, const Sensed<std::uint64_t>& throttle);
  void thin_out();
  void warn(std::size_t gpu, const GpuReading& reading);

  const Clock& clock_;
  std::vector<Gpu> gpus_;
  std::optional<CpuSensor> cpus_;
  MonitorOptions options_;
  std::vector<Warned> warned_;
  mutable std::mutex mutex_;  // of what follows
  MonitorRecord record_;
  std::int64_t stride_ = 1;  // of `stride_` samples, one is kept
  Ticker ticker_;            // the last member, since its thread uses the others
};

}  // namespace speedwell
