// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The command line.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/compare.hpp"
#include "bench/tune_search.hpp"
#include "core/option_text.hpp"
#include "io/hpl_dat.hpp"

namespace lupine {

enum class Command { print, mxp, hpl, bench, compare, tune, solve, info };

/// What HPL.dat would say if it said nothing: choices left open (0), and defaults.
HplDat open_choices();

/// The command ends a run that stalls, which a library leaves to its caller.
constexpr double default_stall_timeout = 300;
inline RunOptions default_run() {
  return {.stall_timeout = default_stall_timeout};
}

/// Of `lupine solve`.
struct SolveArguments {
  std::string a;       ///< file of the matrix
  std::string b;       ///< file of the right-hand sides; empty: A times ones
  std::string x;       ///< file of the solution; empty: it is not kept
  std::string report;  ///< empty: the report is printed only
  SolveOptions options{.run = default_run()};
};

struct Arguments {
  Command command = Command::print;
  std::string text;                                ///< print: help or version
  BenchmarkOptions options{.run = default_run()};  ///< mxp, hpl: but for what is in `choices`
  HplDat choices = open_choices();     ///< of mxp and hpl: what HPL.dat may give in their place
  std::string dat;                     ///< path of an HPL.dat; empty: none asked for
  bool may_take_dat = false;           ///< whether an HPL.dat that lies here is taken unasked
  std::int64_t hpl_n = 0, hpl_nb = 0;  ///< of bench and compare; 0: chosen
  CompareOptions compare;
  std::vector<std::int64_t> orders{8192};        ///< of compare
  int repeat = 1;                                ///< of compare: rounds
  double budget = 60;                            ///< tune: seconds
  std::vector<Benchmark> tuned{Benchmark::mxp};  ///< by tune
  TuneList tried;                                ///< by tune, instead of a search
  SolveArguments solve;
  std::string json;     ///< empty: no JSON
  std::string plot;     ///< of compare; empty: no picture
  std::string trace;    ///< empty: no trace
  std::string profile;  ///< a path, or "none"; empty: by the environment
  std::optional<bool> progress;
};

/// What all ranks must have been given alike. Files that rank 0 alone writes are not among it.
std::vector<OptionText> common_arguments(const Arguments& arguments);

/// @param words what follows the program's name
/// @throws UsageError that names the option and what is allowed
Arguments parse_arguments(const std::vector<std::string>& words);

/// Words as one line that a shell would read back.
std::string quoted(const std::vector<std::string>& words);

/// A whole number of at least 1 in an environment variable's value; nothing for anything else.
std::optional<int> positive_number(const char* text);

}  // namespace lupine
