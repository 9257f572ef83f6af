// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The folder of `speedwell bench --submission`, and `speedwell verify`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "core/option_text.hpp"

namespace speedwell {

/// One benchmark of a submission.
struct SubmittedRun {
  BenchmarkRun run;
  std::string report;               ///< its part of the report
  std::vector<OptionText> options;  ///< by which it is run again
  std::string command;              ///< the same as a command line
};

/// What is written into the folder.
struct Submission {
  std::string report;               ///< the whole report
  nlohmann::ordered_json document;  ///< json_of_both()
  nlohmann::ordered_json system;    ///< system_facts()
  SubmittedRun mxp;
  SubmittedRun hpl;
};

/// The folder of a run, which no other run has meanwhile: a file in it says so.
class SubmissionFolder {
 public:
  /// Makes the folder, before time is spent on runs. @throws UsageError unless it is new or empty
  explicit SubmissionFolder(std::string folder);
  SubmissionFolder(const SubmissionFolder&) = delete;
  SubmissionFolder& operator=(const SubmissionFolder&) = delete;
  /// Removes the file that says that a run has the folder.
  ~SubmissionFolder();

  /// Writes all files, each by try_file().
  void write(const Submission& submission) const;

 private:
  std::string folder_;
};

/// `speedwell verify`: prints a line for each thing that is checked. Returns 0, or 1 where
/// something is wrong. For rank 0. @throws UsageError where the folder is no submission
int verify_submission(const std::string& folder);

}  // namespace speedwell
