// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reading the energy and the samples of a run back from the record of a report.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>

#include "setup/run_sensors.hpp"

namespace speedwell {

/// All that a report's text says of the sensors; nothing where the record has none.
/// @param run an element of the document's "runs" @param ranks of the run
/// @throws UsageError where a field is missing or of another kind
std::optional<SensorReport> recorded_sensors(const nlohmann::ordered_json& run, std::size_t ranks);

/// Seconds since 1970 of a time as "2026-11-21T18:00:00Z", with or without a fraction; NaN where
/// the value is no such time.
double recorded_time(const nlohmann::ordered_json& time);

}  // namespace speedwell
