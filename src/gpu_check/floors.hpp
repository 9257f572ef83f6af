// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Lower bounds (floors) of the times of a run's phases, from the measured ceilings of this GPU.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace speedwell::gpu_check {

inline constexpr double giga = 1e9;
inline constexpr double tera = 1e12;

/// The fastest measurement of a kind, and the GPU's clock during it.
struct Rate {
  double value = 0;   ///< operations, bytes or entries a second; 0: not measured
  double sm_mhz = 0;  ///< clock of the multiprocessors; 0: not known
};

/// The fastest rate of a part among the lines of `speedwell_gpu_ceilings`.
/// @param precision precision of a product; empty: any
Rate fastest_rate(const nlohmann::ordered_json& steps, const std::string& part,
                  const std::string& precision = "");
/// The median clock of a report or line with "clocks", in MHz; 0 if it is not known.
double median_mhz(const nlohmann::ordered_json& measured);

/// The phases of one run on one GPU, each with "seconds", "floor_seconds" and "ratio" (null where a
/// ceiling is missing), and "look_first", which says in words what to look at first.
nlohmann::ordered_json phases_of(const nlohmann::ordered_json& run, bool hpl,
                                 const nlohmann::ordered_json& steps);

}  // namespace speedwell::gpu_check
