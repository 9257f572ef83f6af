// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The arguments of the `speedwell` command, and how they are read.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "bench/tune_search.hpp"
#include "compare/comparison.hpp"
#include "core/option_text.hpp"
#include "io/hpl_dat.hpp"

namespace speedwell {

enum class Command { print, mxp, hpl, bench, compare, tune, solve, info, check, calibrate, verify };

/// Seconds after which the command ends a run that stalls. The library's default is no limit.
constexpr double default_stall_timeout = 300;
inline RunOptions default_run() {
  return {.stall_timeout = default_stall_timeout};
}

/// Arguments of `speedwell solve`.
struct SolveArguments {
  std::string a;       ///< file of the matrix
  std::string b;       ///< file of the right-hand sides; empty: b is A times ones
  std::string x;       ///< file of the solution; empty: x is not written
  std::string report;  ///< file of the report; empty: the report is only printed
  SolveOptions options{.run = default_run()};
};

/// Arguments of `speedwell predict`.
struct PredictArguments {
  bool on = false;                      ///< the command is to be predicted, not run
  std::string machine;                  ///< name of a shipped machine, or a machine file
  int ranks = 0;                        ///< 0: P x Q, or as many as the machine has
  int corrections = 3;                  ///< of the refinement
  std::int64_t n = 0;                   ///< solve: order of A
  std::int64_t rhs = 1;                 ///< solve: right-hand sides; 0: n
  bool complex = false;                 ///< solve: whether A and b are
  std::vector<Precision> precisions{};  ///< solve: of the LU; empty: all that the machine has
  std::string calibrate;                ///< file for the numbers of this machine
  double seconds = 60;                  ///< of the calibration, about
};

/// Arguments of `speedwell check`.
struct CheckArguments {
  double seconds = 20;   ///< of the measurements, about
  double tolerance = 2;  ///< percent by which a figure may be worse than usual
  std::string baseline;  ///< file of earlier figures; empty: none
};

/// How a run is watched; 0: not.
struct MonitorArguments {
  double seconds = 0;      ///< between two samples
  double temperature = 0;  ///< C of a GPU above which is a warning
  double clock = 0;        ///< MHz of a GPU's SM clock below which is a warning
  double power = 0;        ///< W of a GPU above which is a warning
};

/// Arguments of all commands. A command ignores those that it has no options for.
struct Arguments {
  Command command = Command::print;
  std::string program = "speedwell";               ///< as it was started
  std::string text;                                ///< print: help, version and the like
  std::string topic;                               ///< help: a command
  BenchmarkOptions options{.run = default_run()};  ///< mxp, hpl: without the values in `choices`
  HplDat choices =
      choices_of(BenchmarkOptions{});  ///< mxp, hpl: options that HPL.dat may give in their place
  std::string dat;                     ///< path of an HPL.dat (-i); empty: none was given
  bool may_take_dat = false;           ///< whether an HPL.dat in the current folder is read
  std::int64_t hpl_n = 0, hpl_nb = 0;  ///< bench, compare: of HPL; 0: chosen
  CompareOptions compare;
  std::vector<std::int64_t> orders{8192};        ///< compare: every n
  int repeat = 1;                                ///< runs; compare: rounds
  double budget = 60;                            ///< tune: seconds
  std::vector<Benchmark> tuned{Benchmark::mxp};  ///< tune: benchmarks to tune
  TuneList tried;                                ///< tune: values to time in place of a search
  SolveArguments solve;
  PredictArguments predict;
  CheckArguments check;
  MonitorArguments monitor;
  std::string json;              ///< path; empty: no JSON
  std::string submission;        ///< bench: folder of a submission to write; verify: to check
  std::string trace;             ///< path; empty: no trace
  std::string profile;           ///< path, or "none"; empty: as profile_place() says
  std::string blas;              ///< library to call (host/blas_library.hpp); empty: SPEEDWELL_BLAS
  std::optional<bool> progress;  ///< nothing: progress is shown if standard error is a terminal
  std::vector<OptionText> common;  ///< what must be equal on all ranks
};

/// The options of the run: those of `solve`, or of a benchmark. @param arguments Arguments
auto& run_options(auto& arguments) {
  return arguments.command == Command::solve ? arguments.solve.options.run : arguments.options.run;
}

/// @param command_line its words after the program's name
/// @throws UsageError that names the option and what is allowed
Arguments parse_arguments(const std::vector<std::string>& command_line);

/// The words as one line, quoted such that a shell reads the same words.
std::string quoted(const std::vector<std::string>& words);

/// The value of an environment variable if it is a whole number of at least 1, else nothing.
std::optional<int> positive_number(const char* text);

}  // namespace speedwell
