// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Parts that the reports of several predictions share.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "paper/predicted.hpp"

namespace speedwell::paper {

/// Banner, and the lines of the machine and its ranks. @param ranks "8", or several
std::string machine_head(std::string_view title, const Scenario& scenario,
                         const std::string& ranks);
/// machine_head() and the line of the benchmark.
/// @param title of the study: "search"
/// @param ranks "8", or several
std::string study_head(std::string_view title, const Scenario& scenario,
                       const BenchmarkOptions& asked, const std::string& ranks);
/// The fields at the beginning of a prediction's document. @param benchmark "mxp", "solve"
nlohmann::ordered_json machine_json(std::string_view benchmark, const Scenario& scenario);
/// The fields at the beginning of a study's document.
/// @param study "search" or "scale"
nlohmann::ordered_json study_json(std::string_view study, const Scenario& scenario,
                                  const BenchmarkOptions& asked);
/// (2/3 n^3 + 3/2 n^2) / lu_seconds / 1e9, of a run that was not refused.
double lu_gflops(const Predicted& predicted);
/// The times of a prediction; what samples do not give is null.
nlohmann::ordered_json times_json(const Predicted& predicted);

}  // namespace speedwell::paper
