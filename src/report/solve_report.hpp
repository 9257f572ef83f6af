// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of a solution, as text and as JSON.
#pragma once

#include <lupine/solve.hpp>

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lupine {

/// What was asked for, and how it ended.
struct SolveRun {
  std::string a;  ///< file of A
  std::string b;  ///< empty: A times ones
  std::string x;  ///< empty: not kept
  std::int64_t n = 0;
  std::int64_t right_hand_sides = 1;
  SolveOptions options;            ///< as they were given
  std::vector<std::string> hosts;  ///< of every rank
  std::vector<std::string> notes;  ///< what else a reader should know
  std::string command_line;
  std::time_t begin = 0, end = 0;
  std::string failure;          ///< why there is no x of the tolerance; empty: there is
  std::int64_t bad_pivot = -1;  ///< 0-based, of a singular A
};

/// Ends with a line that says whether it is solved.
std::string solve_report(const SolveRun& run, const Solution& solution);

/// "lupine/1", "benchmark": "solve". What is not finite is null; pivots are 0-based.
nlohmann::ordered_json json_of_solution(const SolveRun& run, const Solution& solution);

}  // namespace lupine
