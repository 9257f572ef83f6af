// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `lupine compare` as text.
#pragma once

#include <string>
#include <vector>

#include "bench/comparison.hpp"
#include "setup/plan.hpp"

namespace lupine {

/// The part before the runs: what is compared, the machine, and the meaning of the tables' columns.
/// @param orders every n
/// @param notes further notes for the reader
std::string compare_head(const Setup& setup, const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes);

/// The tables of one n: contestants, then ceilings. Below them stand the reasons of contestants
/// that were skipped, and of failures.
std::string compare_tables(const Comparison& comparison);

/// The contestant's last turn in one line, to show progress.
std::string turn_line(const Contestant& contestant, std::int64_t n, int round, int rounds);

}  // namespace lupine
