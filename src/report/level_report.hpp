// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell compare --levels`: a table and JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "compare/comparison.hpp"

namespace speedwell {

/// What the columns of level_table() mean.
extern const char* const level_legend;

/// A row for each level; what was lost in rounding, and why a level has no x, below.
std::string level_rows(const Comparison& comparison);

/// An object; null where the turn is not that of a level.
nlohmann::ordered_json json_of(const std::optional<LevelResult>& result);

}  // namespace speedwell
