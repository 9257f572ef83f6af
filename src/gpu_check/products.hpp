// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The algorithms of matrix products that the runs report, and the limits that they pass.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace speedwell::gpu_check {

/// The algorithms of all runs of HPL-MxP and HPL that passed, as the runs report them, each with
/// "run", the name of its run, "first", whether it is the first of its class that was not refused,
/// and "over": whether it launches more thread blocks than its limit of multiprocessors; null where
/// it has no limit or its blocks are not known.
nlohmann::ordered_json products(const nlohmann::ordered_json& steps);

/// A line for each algorithm.
std::string products_text(const nlohmann::ordered_json& all);

/// Which limited classes launch more blocks than their limit, or what is not known of them, and
/// which algorithms were refused; the same ones of several runs once. Empty if there are no
/// products.
std::string limits_text(const nlohmann::ordered_json& all);

/// The times of a diagonal block and an update alone and side by side, from the ceilings.
std::string side_by_side_text(const nlohmann::ordered_json& steps);

}  // namespace speedwell::gpu_check
