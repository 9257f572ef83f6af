// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The folder of `speedwell bench --submission`, and `speedwell verify`.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "io/settings.hpp"

namespace speedwell {

/// Checks, before time is spent on runs, that the folder can be written: it is not there yet, or is
/// empty. @throws UsageError
void check_submission_folder(const std::string& folder);

/// One benchmark of a submission.
struct SubmittedRun {
  BenchmarkRun run;
  std::string report;   ///< its part of the report
  Settings settings;    ///< by which it is run again
  std::string command;  ///< the same as a command line
};

/// What is written into the folder.
struct Submission {
  std::string report;               ///< the whole report
  nlohmann::ordered_json document;  ///< json_of_both()
  nlohmann::ordered_json system;    ///< system_facts()
  SubmittedRun mxp;
  SubmittedRun hpl;
};

/// Writes all files. @throws UsageError that names the file which cannot be written
void write_submission(const std::string& folder, const Submission& submission);

/// `speedwell verify`: prints a line for each thing that is checked. Returns 0, or 1 where
/// something is wrong. For rank 0. @throws UsageError where the folder is no submission
int verify_submission(const std::string& folder);

}  // namespace speedwell
