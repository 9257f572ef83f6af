// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The trace of a run on all its ranks.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "comm/time_line.hpp"
#include "core/run_context.hpp"

namespace speedwell {

/// The spans of all ranks, in seconds of rank 0's clock.
struct RunTrace {
  /// Most spans in a file, of all ranks and runs together: each takes some 150 bytes there.
  static constexpr std::size_t most_spans = std::size_t{1} << 23;

  double begin = 0;
  std::vector<RankTrace> ranks;
};

/// Traces one run. Construction and gather() are collective; the trace begins with construction.
class RunTracer {
 public:
  RunTracer(const Communicator& all, RunContext& run);

  /// Ends the trace. Returns the spans of all ranks on rank 0, no spans on other ranks. Collective.
  RunTrace gather();

 private:
  const Communicator& all_;
  double begin_;  // this rank's time at construction, before any rank records a span
  TimeLine line_;
  Trace trace_;
  RunContext::Tracing tracing_;
};

}  // namespace speedwell
