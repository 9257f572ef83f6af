// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A run traced on all its ranks.
#pragma once

#include <vector>

#include "comm/communicator.hpp"
#include "comm/time_line.hpp"
#include "core/trace.hpp"

namespace lupine {

/// Spans of every rank, in seconds of rank 0's clock.
struct RunTrace {
  /// Spans of all ranks and runs of a file: some 150 bytes each there.
  static constexpr std::size_t most_spans = std::size_t{1} << 23;

  double begin = 0;
  std::vector<RankTrace> ranks;
};

/// Collective from its construction, which begins the run's trace.
class RunTracer {
 public:
  RunTracer(const Communicator& all, const Clock& clock);

  /// Where this rank records.
  Trace& trace() { return trace_; }
  /// On rank 0 what all have recorded; elsewhere nothing. Collective.
  RunTrace gather();

 private:
  const Communicator& all_;
  double begin_;  // before any rank goes on
  TimeLine line_;
  Trace trace_;
};

}  // namespace lupine
