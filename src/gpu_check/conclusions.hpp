// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Makes a table of the runs and the verdicts on the goals from the records of the steps.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace speedwell::gpu_check {

/// An object with "table", "phases", "goals" and "products" of all runs so far.
nlohmann::ordered_json conclusions(const nlohmann::ordered_json& steps);

/// One row for each run of HPL-MxP and HPL that passed, with n, nb, reserve, score, LU and shares.
nlohmann::ordered_json table(const nlohmann::ordered_json& steps);
/// The goals, each with "goal", "value" and "verdict" (reached, not reached or not measured).
nlohmann::ordered_json goals(const nlohmann::ordered_json& steps);

std::string table_text(const nlohmann::ordered_json& rows);
std::string phases_text(const nlohmann::ordered_json& runs);
std::string goals_text(const nlohmann::ordered_json& all);

}  // namespace speedwell::gpu_check
