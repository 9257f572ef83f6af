// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell check`, as text and as JSON.
#pragma once

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "check/node_check.hpp"

namespace speedwell {

/// What is reported of a check.
struct CheckSummary {
  NodeCheck check;
  OutlierLimits limits;
  std::vector<Finding> findings;  ///< among the places, and against the baseline
  std::string baseline;           ///< path; empty: none
};

/// The whole report.
std::string check_report(const CheckSummary& summary, const std::vector<std::string>& notes);
nlohmann::ordered_json json_of_check(const CheckSummary& summary, std::time_t begin,
                                     const std::string& command_line,
                                     const std::vector<std::string>& notes);

}  // namespace speedwell
