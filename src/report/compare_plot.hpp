/// @file
/// `lupine compare` as a picture: rates against n, and ceilings.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison.hpp"

namespace lupine {

/// What gnuplot makes an SVG of, on standard output, data included: the best rate of each
/// contestant against n, and the best of each ceiling in GFLOP/s as a level line.
/// @param heading above the picture
/// @pre all has one at least
std::string plot_script(const std::vector<Comparison>& all, const std::string& heading);

}  // namespace lupine
