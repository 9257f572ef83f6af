// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reads what Nsight Compute (ncu --csv --page details) prints of kernels.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "child.hpp"

namespace speedwell::gpu_check {

/// An object for each profiled launch, in order: "kernel", "grid", "block", and "metrics" by their
/// names, each a value with its unit. Empty if there is no table.
nlohmann::ordered_json profiled_kernels(const Outcome& outcome);
/// How many launches, and which took longest.
std::string words_of_profile(const nlohmann::ordered_json& kernels);

}  // namespace speedwell::gpu_check
