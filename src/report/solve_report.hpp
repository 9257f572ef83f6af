// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of `speedwell solve`, as text and as JSON.
#pragma once

#include <speedwell/solution.hpp>

#include <cstdint>
#include <ctime>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/scalar.hpp"
#include "setup/peak_memory.hpp"
#include "setup/run_sensors.hpp"

namespace speedwell {

/// A run of `speedwell solve`: its input, and the part of its outcome that Solution does not hold.
struct SolveRun {
  std::string a;           ///< file of A
  std::string b;           ///< file of b; empty: b is A times ones
  std::string x;           ///< file of x; empty: x is not written
  bool x_is_lost = false;  ///< the file could not be written
  std::int64_t n = 0;
  Field field = Field::real;
  std::int64_t right_hand_sides = 1;
  SolveOptions options;            ///< as they were given
  std::vector<std::string> hosts;  ///< host name of every rank
  std::vector<std::string> notes;  ///< further notes for the reader
  std::string command_line;
  std::time_t begin = 0, end = 0;
  std::string failure;          ///< why not every x meets the tolerance; empty if each does
  std::int64_t bad_pivot = -1;  ///< 0-based index of the zero pivot of a singular A, or -1
  PeakMemory peak{};            ///< from the opening of the files to the solution
  SensorReport sensors{};       ///< of all LUs, and of all refinements
};

/// Whether some right-hand sides are solved and others are not, and x may be kept: there is no
/// doubt about it, or doubts are no failures. x is then written, with NaN in the columns of those
/// that are not solved. Otherwise a failure leaves no file of x.
bool is_solved_in_part(const SolveRun& run, const Solution& solution);

/// Whether the failure is the doubt about x, and so says it.
bool is_failed_by_doubt(const SolveRun& run, const Solution& solution);

/// One line that says whether the system is solved, and where x is: "solved; x is in 'x.npy'", or
/// "solved, with a doubt; x is in 'x.npy'". It names up to ten right-hand sides that are not
/// solved, counted from 1.
std::string verdict(const SolveRun& run, const Solution& solution);

/// The report as text. Its last line is the verdict.
std::string solve_report(const SolveRun& run, const Solution& solution);

/// A document of schema "speedwell/1" with benchmark "solve". Numbers that are not finite are null;
/// pivots are counted from 0.
nlohmann::ordered_json json_of_solution(const SolveRun& run, const Solution& solution);

}  // namespace speedwell
