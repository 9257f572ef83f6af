// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The texts of a submission of both benchmarks, and what is checked in one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/rules.hpp"

namespace speedwell {

/// The fields that the lists' forms ask for, filled in as far as the machine tells, and both
/// benchmarks' rules with their verdicts, in Markdown.
/// @param document of json_of_both() @param system of system_facts()
std::string submission_text(const nlohmann::ordered_json& document,
                            const nlohmann::ordered_json& system);

/// What stands in submission_text() where a value is not known.
inline constexpr const char* missing_field = "**missing: fill in**";

/// The JudgedRun of a document of json_report(). @throws UsageError where a field is missing
JudgedRun judged_run(const nlohmann::ordered_json& run);

/// One thing that was checked.
struct SubmissionCheck {
  std::string what;
  std::string wrong;  ///< what is wrong, in words; empty: nothing
};

/// Checks of the document of json_of_both() in itself: times and rates, residuals, rules.
/// @throws UsageError where a field is missing
std::vector<SubmissionCheck> check_document(const nlohmann::ordered_json& document);

/// The line of a report that has this score, as both reports write it.
std::string score_in_report(const nlohmann::ordered_json& run);

}  // namespace speedwell
