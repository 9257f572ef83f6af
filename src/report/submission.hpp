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

/// "admissible: yes", or "admissible: no; " and the first rule that is broken.
std::string verdict_of(const JudgedRun& run);

/// The JudgedRun of a document of json_report(). @throws UsageError where a field is missing
JudgedRun judged_run(const nlohmann::ordered_json& run);

}  // namespace speedwell
