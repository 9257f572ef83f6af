// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The trace of some runs, as a file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/run_tracer.hpp"
#include "io/trace_json.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// Runs one after the other, on one time line. For rank 0.
class TraceReport {
 public:
  /// @param most spans that are kept
  explicit TraceReport(std::size_t most = RunTrace::most_spans) : room_(most) {}

  /// @param turn,repeat which of how many runs with this setup, from 0
  void add(const Setup& setup, int turn, int repeat, RunTrace run);
  /// Spans that there was no room for.
  std::int64_t left_out() const { return left_out_; }
  /// In the Chrome trace event format; whole, or not at all. In "otherData" stand version,
  /// revision, command line and, under "runs", what was run. @throws Fault
  void write(const std::string& path, const std::string& command_line) const;

 private:
  void shorten(RunTrace& run);
  void name_processes(const Setup& setup);

  std::vector<TracedRun> runs_;
  std::vector<Setup> setups_;           ///< of each run
  std::vector<std::string> processes_;  ///< names, by rank
  std::size_t room_;                    ///< for spans of runs to come
  std::int64_t left_out_ = 0;
};

}  // namespace lupine
