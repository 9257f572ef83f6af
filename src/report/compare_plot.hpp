// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine compare` as a picture: rates against n, and ceilings.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison.hpp"

namespace lupine {

/// What gnuplot makes an SVG of, on standard output, data included: the best rate of each
/// contestant against n, and the best of each ceiling in GFLOP/s as a dashed level line.
///
/// A ceiling has the colour of the contestant that it bounds, of several the first one's, and is
/// grey where it bounds none of those drawn. The legend names eight lines at most: contestants,
/// then the ceilings that bound most of them, of equals that of the first one. Further ceilings are
/// drawn without a name if they bound a contestant, and left out if they are grey. Sizes stand
/// upright; of those that would touch, some have a short tick without a label.
/// @param heading above the picture
/// @pre all has one at least
std::string plot_script(const std::vector<Comparison>& all, const std::string& heading);

}  // namespace lupine
