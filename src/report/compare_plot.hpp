// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The pictures of `speedwell compare`: rates against n, and ceilings; or time against digits.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"

namespace speedwell {

/// A gnuplot script, with its data, that writes an SVG to standard output. The picture shows each
/// solver's best rate against n as a curve, and each ceiling's best rate in GFLOP/s as a dashed
/// horizontal line.
///
/// A ceiling has the colour of the first solver that it bounds, and is grey if it bounds none
/// of those drawn. The legend has at most eight lines: the solvers, then the ceilings that
/// bound most solvers (where two bound as many, the one whose first solver comes first).
/// Other ceilings are drawn without a name if they bound a solver, and left out if they are
/// grey. Labels of n are not rotated: an n whose label would touch another has a short tick alone.
/// @param heading title of the picture
/// @pre all is not empty
std::string plot_script(const std::vector<Comparison>& all, const std::string& heading);

/// A gnuplot script, with its data, that writes an SVG to standard output, of a comparison in which
/// x is known: the best time of each solver against the correct decimal digits of its x, a
/// point for each n. A solver without an x has no point. @param heading title of the picture
/// @pre all is not empty
std::string digits_plot_script(const std::vector<Comparison>& all, const std::string& heading);

/// The colour of the solver with this number, as "#0072b2"; from the ninth on they recur.
std::string_view plot_colour(std::size_t entry);

}  // namespace speedwell
