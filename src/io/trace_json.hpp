// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Traces in the Chrome trace event format, which Perfetto and chrome://tracing open.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace lupine {

/// A run as all its ranks traced it, in seconds of one clock.
struct TracedRun {
  std::string name;
  double begin = 0;
  std::vector<RankTrace> ranks;
};

/// {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": other}. A process is a rank, a
/// thread a track. Each run begins with an instant event of its name. Spans are complete events, in
/// microseconds from the first run's begin; their category is the phase that the report counts them
/// as, in "args" stand step, rows and columns where a span has them.
/// @param processes names, by rank
/// @pre no run has more ranks than there are names
std::string chrome_trace(const std::vector<std::string>& processes,
                         const std::vector<TracedRun>& runs, const nlohmann::ordered_json& other);

}  // namespace lupine
