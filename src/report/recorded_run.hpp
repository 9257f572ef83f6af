// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The runs that a JSON report records.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// The configuration and the runs of a document of json_report() that has one configuration. It has
/// what reports show of them, but for memory and sensors.
/// @throws UsageError where a field is missing, or is none that json_report() writes
Measured recorded_runs(const nlohmann::ordered_json& document);

}  // namespace speedwell
