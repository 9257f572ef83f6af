// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The file with the traces of a command's runs.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bench/run_tracer.hpp"
#include "io/trace_json.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// Collects traces of runs on one time line, and writes them. For rank 0.
class TraceReport {
 public:
  /// @param most largest number of spans that are kept
  explicit TraceReport(std::size_t most = RunTrace::most_spans) : room_(most) {}

  /// Adds a run. @param turn,repeat the run is number `turn`, from 0, of `repeat` with this setup
  void add(const Setup& setup, int turn, int repeat, RunTrace run);
  /// Number of spans for which there was no room.
  std::int64_t left_out() const { return left_out_; }
  /// Writes the file in the Chrome trace event format, whole or not at all. Its "otherData" holds
  /// version, revision, command line and a description of the runs. @throws Fault
  void write(const std::string& path, const std::string& command_line) const;

 private:
  void shorten(RunTrace& run);
  void name_processes(const Setup& setup);

  std::vector<TracedRun> runs_;
  std::vector<Setup> setups_;           ///< setup of each run
  std::vector<std::string> processes_;  ///< name of each rank
  std::size_t room_;                    ///< number of spans that may still be added
  std::int64_t left_out_ = 0;
};

}  // namespace speedwell
