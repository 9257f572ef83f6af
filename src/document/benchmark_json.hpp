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
/// @param planned runs that were asked for, of which `all` may be the first ones; 0: is not told
/// @pre the first configuration has a run, and all are of one benchmark
nlohmann::ordered_json json_report(const std::vector<Measured>& all,
                                   const std::string& command_line,
                                   const std::vector<std::string>& notes, int planned = 0);

/// Both benchmarks: {"benchmark": "bench", ..., "mxp": {...}, "hpl": {...}, "speedup": x}, where
/// "mxp" and "hpl" hold the documents of json_report().
/// @param hpl null, as in the document, where it has not run yet
/// @param planned runs of each
nlohmann::ordered_json json_of_both(const Measured& mxp, const Measured* hpl,
                                    const std::string& command_line,
                                    const std::vector<std::string>& notes, int planned = 0);

}  // namespace speedwell
