// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell compare` as text.
#pragma once

#include <string>
#include <vector>

#include "compare/comparison.hpp"
#include "compare/contest.hpp"
#include "setup/plan.hpp"

namespace speedwell {

/// What is compared: "HPL-MxP, HPL and LAPACK", or "speedwell::solve and LAPACK, gaussian, 300
/// right-hand sides".
std::string compare_title(const CompareOptions& who);

/// The part before the runs: what is compared, the machine, and the meaning of the tables' columns.
/// @param who its solvers and precisions are not shown
/// @param orders every n
/// @param notes further notes for the reader
std::string compare_head(const Setup& setup, const CompareOptions& who,
                         const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes);

/// The tables of one n: solvers, then ceilings. Below them stand the reasons of solvers
/// that were skipped, and of failures; with a matrix of the gallery, also the steps of `solve`.
std::string compare_tables(const Comparison& comparison);

/// The solver's last turn in one line, to show progress.
/// @param all the comparison that it belongs to
std::string turn_line(const ComparedSolver& entry, const Comparison& all, int round, int rounds);

}  // namespace speedwell
