// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `lupine solve`, as text and as JSON.
#pragma once

#include <lupine/solve.hpp>

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace lupine {

/// A run of `lupine solve`: its input, and the part of its outcome that Solution does not hold.
struct SolveRun {
  std::string a;  ///< file of A
  std::string b;  ///< file of b; empty: b is A times ones
  std::string x;  ///< file of x; empty: x is not written
  std::int64_t n = 0;
  std::int64_t right_hand_sides = 1;
  SolveOptions options;            ///< as they were given
  std::vector<std::string> hosts;  ///< host name of every rank
  std::vector<std::string> notes;  ///< further notes for the reader
  std::string command_line;
  std::time_t begin = 0, end = 0;
  std::string failure;          ///< why no x meets the tolerance; empty if one does
  std::int64_t bad_pivot = -1;  ///< 0-based index of the zero pivot of a singular A, or -1
};

/// The report as text. Its last line says whether the system is solved.
std::string solve_report(const SolveRun& run, const Solution& solution);

/// A document of schema "lupine/1" with benchmark "solve". Numbers that are not finite are null;
/// pivots are counted from 0.
nlohmann::ordered_json json_of_solution(const SolveRun& run, const Solution& solution);

}  // namespace lupine
