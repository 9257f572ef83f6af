// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell compare` as JSON.
#pragma once

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// A document of schema "speedwell/1" with benchmark "compare"; "orders" has the "solvers" and
/// ceilings for every n. Unknown numbers are null. With a matrix of the gallery there are no
/// ceilings.
/// @pre all is not empty
/// @param begin time at which the first round began
/// @param notes further notes for the reader
nlohmann::ordered_json json_of_comparisons(const Setup& setup, const std::vector<Comparison>& all,
                                           int rounds, std::time_t begin,
                                           const std::string& command_line,
                                           const std::vector<std::string>& notes);

}  // namespace speedwell
