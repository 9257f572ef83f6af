// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// From the records of the steps to a table of the runs, and to the goals.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lupine::gpu_check {

/// "table", "phases" and "goals" of all that has been run so far.
nlohmann::ordered_json conclusions(const nlohmann::ordered_json& steps);

/// One row for each run of HPL-MxP and HPL that passed: n, nb, reserve, score, LU, shares.
nlohmann::ordered_json table(const nlohmann::ordered_json& steps);
/// Each with "goal", "value" and "verdict": reached, not reached or not measured.
nlohmann::ordered_json goals(const nlohmann::ordered_json& steps);

std::string table_text(const nlohmann::ordered_json& rows);
std::string phases_text(const nlohmann::ordered_json& runs);
std::string goals_text(const nlohmann::ordered_json& all);

}  // namespace lupine::gpu_check
