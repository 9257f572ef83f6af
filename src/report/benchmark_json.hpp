// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of runs as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/campaign.hpp"

namespace lupine {

/// "lupine/1". Choices, times, rates, norms and the verdict at the top are those of one run: the
/// first that failed, or else the one with the highest rate. "runs" has them for every run, with
/// its choices where there are several configurations. What is not finite is null.
/// @param notes what else a reader should know
/// @pre the first has a run, and all are of one benchmark
nlohmann::ordered_json json_report(const std::vector<Measured>& all,
                                   const std::string& command_line,
                                   const std::vector<std::string>& notes);

/// Both benchmarks: {"benchmark": "bench", ..., "mxp": {...}, "hpl": {...}, "speedup": x}, each in
/// the form that it has alone.
nlohmann::ordered_json json_of_both(const Measured& mxp, const Measured& hpl,
                                    const std::string& command_line,
                                    const std::vector<std::string>& notes);

}  // namespace lupine
