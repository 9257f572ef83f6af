// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `lupine compare --levels`: a table, JSON and a picture.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "compare/comparison.hpp"

namespace lupine {

/// What the columns of level_table() mean.
extern const char* const level_legend;

/// A row for each level; what was lost in rounding, and why a level has no x, below.
std::string level_rows(const Comparison& comparison);

/// An object; null where the turn is not that of a level.
nlohmann::ordered_json json_of(const std::optional<LevelResult>& result);

/// A gnuplot script, with its data, that writes an SVG to standard output: the best time of each
/// level against the correct decimal digits of its x, a point for each n. A level without an x has
/// no point. @param heading title of the picture
/// @pre all is not empty
std::string level_plot_script(const std::vector<Comparison>& all, const std::string& heading);

}  // namespace lupine
