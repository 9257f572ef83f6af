// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Samples of a GPU's clock, power and temperature, read repeatedly while other programs run.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace speedwell::gpu_check {

/// The values at one moment. Those that the GPU does not report are empty.
struct Sample {
  double time = 0;  ///< seconds since 1970
  std::optional<double> sm_mhz;
  std::optional<double> watts;
  std::optional<double> celsius;
  std::optional<std::uint64_t>
      reasons;  ///< the reasons why the clock is not higher, as NVML's bits
};

constexpr double sample_seconds = 0.2;

class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;
  /// The name of the source, such as "NVML".
  virtual std::string name() const = 0;
  /// Waits up to `sample_seconds` for the next sample. All calls must come from one thread.
  virtual std::optional<Sample> next() = 0;
};

/// Samples by NVML, or else by nvidia-smi; null where neither is there.
/// @param uuid the beginning of the GPU's UUID, with or without dashes. Where no GPU matches, the
/// first
///             one is sampled
std::unique_ptr<SampleSource> open_samples(const std::string& uuid);

/// The names of the bits, such as "sw_power_cap sw_thermal_slowdown".
std::string names_of_reasons(std::uint64_t reasons);
/// The least, median and largest value of each quantity, and for each reason its share of the
/// samples; null if there are no samples.
nlohmann::ordered_json summary(const std::vector<Sample>& samples);

/// Seconds since 1970.
double wall_time();

}  // namespace speedwell::gpu_check
