// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `lupine tune`, as text and as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/tune.hpp"

namespace lupine {

/// What comes before everything. @param budget seconds
std::string tune_banner(double budget, const std::vector<std::string>& notes);
/// What is tuned, and the head of the lines that follow. @param columns that each run times
std::string tune_head(const Setup& setup, std::int64_t columns);
/// One tuning beside the best one so far.
std::string tune_line(const TuningTrial& trial);
std::string tune_result(const TunedBenchmark& tuned);
/// @param profile the path that was written; empty: none
std::string tune_end(const std::string& profile);

/// "lupine/1", with "tunings": what was found, and every trial, of each benchmark.
/// @pre all has one at least
nlohmann::ordered_json json_of_tuning(const std::vector<TunedBenchmark>& all, double budget,
                                      const std::string& profile, const std::string& command_line,
                                      const std::vector<std::string>& notes);

}  // namespace lupine
