/// @file
/// From the records of the steps to a table of the runs, and to the goals.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace lupine::gpu_check {

/// The highest rate of `lupine_gpu_ceilings` for a product of this precision, TFLOP/s; 0: none.
double product_rate(const nlohmann::ordered_json& steps, const std::string& precision);

/// One row for each run of HPL-MxP that passed: n, nb, reserve, score, LU, shares.
nlohmann::ordered_json table(const nlohmann::ordered_json& steps);
/// Each with "goal", "value" and "verdict": reached, not reached or not measured.
nlohmann::ordered_json goals(const nlohmann::ordered_json& steps);

std::string table_text(const nlohmann::ordered_json& rows);
std::string goals_text(const nlohmann::ordered_json& all);

}  // namespace lupine::gpu_check
