// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of HPL-MxP's and HPL's runs as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/campaign.hpp"

namespace speedwell {

/// A document of schema "speedwell/1". Choices, times, rates, norms and the verdict at its top are
/// those of the representative() run. "runs" has the outcome of every run, with the choices too
/// where there are several configurations. Numbers that are not finite are null.
/// @param notes further notes for the reader
/// @pre the first configuration has a run, and all are of one benchmark
nlohmann::ordered_json json_report(const std::vector<Measured>& all,
                                   const std::string& command_line,
                                   const std::vector<std::string>& notes);

/// Both benchmarks: {"benchmark": "bench", ..., "mxp": {...}, "hpl": {...}, "speedup": x}, where
/// "mxp" and "hpl" hold the documents of json_report().
nlohmann::ordered_json json_of_both(const Measured& mxp, const Measured& hpl,
                                    const std::string& command_line,
                                    const std::vector<std::string>& notes);

}  // namespace speedwell
