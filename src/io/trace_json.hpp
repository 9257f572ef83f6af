// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Traces in the Chrome trace event format, which Perfetto and chrome://tracing open.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/trace.hpp"

namespace speedwell {

/// The trace of a run on all its ranks, in seconds of one clock.
struct TracedRun {
  std::string name;
  double begin = 0;
  std::vector<RankTrace> ranks;
};

/// The document {"traceEvents": [...], "displayTimeUnit": "ms", "otherData": other}. Each rank is a
/// process in it, and each track of a rank is a thread. A run begins with an instant event that has
/// the run's name. Spans are complete events, in microseconds from the first run's begin. An
/// event's category is the phase to which the report adds the span; "args" holds step, rows and
/// columns where the span has them. Samples are counter events.
/// @param processes names of the ranks
/// @pre no run has more ranks than there are names
std::string chrome_trace(const std::vector<std::string>& processes,
                         const std::vector<TracedRun>& runs, const nlohmann::ordered_json& other);

}  // namespace speedwell
