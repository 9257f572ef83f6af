// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine compare` as JSON.
#pragma once

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// "lupine/1" with benchmark "compare"; "orders" has contestants and ceilings for every n. What is
/// not known is null.
/// @param begin when the first round began
/// @param notes what else a reader should know
nlohmann::ordered_json json_of_comparisons(const Setup& setup, const std::vector<Comparison>& all,
                                           int rounds, std::time_t begin,
                                           const std::string& command_line,
                                           const std::vector<std::string>& notes);

}  // namespace lupine
