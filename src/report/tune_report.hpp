// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell tune`, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/tune.hpp"

namespace speedwell {

/// The beginning of the report. @param budget seconds
std::string tune_banner(double budget, const std::vector<std::string>& notes);
/// The benchmark that is tuned, and the head of the trials' table. @param columns timed in each run
std::string tune_head(const Setup& setup, std::int64_t columns);
/// The line of a trial: a tuning beside the best one so far.
std::string tune_line(const TuningTrial& trial);
/// The tuning that was found for a benchmark.
std::string tune_result(const TunedBenchmark& tuned);
/// The end of the report. @param profile path of the profile that was written; empty: none was
std::string tune_end(const std::string& profile);

/// A document of schema "speedwell/1". "tunings" has the tuning that was found, and every trial,
/// for each benchmark.
/// @pre all is not empty
nlohmann::ordered_json json_of_tuning(const std::vector<TunedBenchmark>& all, double budget,
                                      const std::string& profile, const std::string& command_line,
                                      const std::vector<std::string>& notes);

}  // namespace speedwell
