// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `lupine compare` as text.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// What is compared, on what, and what the columns of the tables mean: for before the runs.
/// @param orders every n
/// @param notes what else a reader should know
std::string compare_head(const Setup& setup, const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes);

/// The tables of one n: contestants, then ceilings. What was skipped or failed says why below.
std::string compare_tables(const Comparison& comparison);

/// A turn in one line, for progress.
std::string turn_line(const Contestant& contestant, std::int64_t n, int round, int rounds);

}  // namespace lupine
