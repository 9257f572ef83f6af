// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell compare`, as text and as JSON. Both are made of one list of facts about
/// a solver, whatever is compared.
#pragma once

#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// The part before the runs: what is compared, the machine, and the meaning of the tables' columns.
/// @param who its solvers and precisions are not shown
/// @param orders every n
/// @param notes further notes for the reader
std::string compare_head(const Setup& setup, const CompareOptions& who,
                         const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes);

/// The tables of one n: solvers, then ceilings. A column of which nothing is known is left out.
/// Below them stand the reasons of solvers that were skipped, and of failures; the steps of
/// `solve`; bounds that do not hold; and what left the range of a level's precision.
std::string compare_tables(const Comparison& comparison);

/// The solver's last turn in one line, to show progress.
/// @param all the comparison that it belongs to
std::string turn_line(const ComparedSolver& entry, const Comparison& all, int round, int rounds);

/// A document of schema "speedwell/1" with benchmark "compare"; "orders" has the "solvers" and
/// ceilings for every n. Unknown numbers are null. With a matrix of the gallery there are no
/// ceilings.
/// @pre all is not empty
/// @param begin time at which the first round began
/// @param notes further notes for the reader
nlohmann::ordered_json json_of_comparisons(const Setup& setup, const std::vector<Comparison>& all,
                                           int rounds, std::time_t begin,
                                           const std::string& command_line,
                                           const std::vector<std::string>& notes);

}  // namespace speedwell
