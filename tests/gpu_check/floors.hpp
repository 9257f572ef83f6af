// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the phases of a run take at least, by what this GPU was measured to do.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace lupine::gpu_check {

/// The fastest measurement of a kind, and the clock that it was taken at.
struct Rate {
  double value = 0;   ///< a second; 0: not measured
  double sm_mhz = 0;  ///< 0: not known
};

/// Of the lines of `lupine_gpu_ceilings`.
/// @param precision of a product; empty: any
Rate fastest_rate(const nlohmann::ordered_json& steps, const std::string& part,
                  const std::string& precision = "");
/// Median clock of a report or a line with "clocks"; 0 if it is not known.
double median_mhz(const nlohmann::ordered_json& measured);

/// Of one run on one GPU: each phase with "seconds", "floor_seconds" and "ratio" (null where a
/// ceiling is missing), and "look_first", in words.
nlohmann::ordered_json phases_of(const nlohmann::ordered_json& run, bool hpl,
                                 const nlohmann::ordered_json& steps);

}  // namespace lupine::gpu_check
