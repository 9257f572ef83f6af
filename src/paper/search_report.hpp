// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What `speedwell predict --search` reports.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "paper/search.hpp"

namespace speedwell::paper {

/// The best configuration as a command, ready to be typed: "speedwell mxp -N ...". It has the
/// values that the search chose, and the options of `asked` that are not the defaults.
std::string command_of(const BenchmarkOptions& asked, const BenchmarkOptions& chosen);

/// The best configuration, the reason for each of its values, and the table of all trials.
std::string search_text(const Scenario& scenario, const BenchmarkOptions& asked,
                        const SearchOutcome& outcome);

/// The same facts as a JSON document.
nlohmann::ordered_json search_json(const Scenario& scenario, const BenchmarkOptions& asked,
                                   const SearchOutcome& outcome);

}  // namespace speedwell::paper
