// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The clock that a GPU runs at, read again and again beside whatever else runs.
#pragma once

#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace lupine::gpu_check {

/// What was read at one moment; what the GPU does not tell is not there.
struct Sample {
  double time = 0;  ///< seconds since 1970
  std::optional<double> sm_mhz;
  std::optional<double> watts;
  std::optional<double> celsius;
  std::optional<std::uint64_t> reasons;  ///< NVML's bits: why the clock is not higher
};

constexpr double sample_seconds = 0.2;

class SampleSource {
 public:
  SampleSource() = default;
  SampleSource(const SampleSource&) = delete;
  SampleSource& operator=(const SampleSource&) = delete;
  virtual ~SampleSource() = default;
  /// "NVML".
  virtual std::string name() const = 0;
  /// Waits for the next one, `sample_seconds` at most. Called by one thread, from the first to the
  /// last.
  virtual std::optional<Sample> next() = 0;
};

/// By NVML, else by nvidia-smi; null where neither is there.
/// @param uuid what the GPU's begins with, with or without dashes; the first GPU where none does
std::unique_ptr<SampleSource> open_samples(const std::string& uuid);

/// "sw_power_cap sw_thermal_slowdown".
std::string names_of_reasons(std::uint64_t reasons);
/// Least, median and largest of each, and of each reason the part of the samples that gave it;
/// null if there are none.
nlohmann::ordered_json summary(const std::vector<Sample>& samples);

/// Seconds since 1970.
double wall_time();

}  // namespace lupine::gpu_check
