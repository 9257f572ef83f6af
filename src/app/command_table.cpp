// SPDX-License-Identifier: BSD-3-Clause
#include "app/command_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "app/command_options.hpp"

namespace speedwell {

namespace {

Options progress_flags(Arguments& arguments) {
  const char* const once = "--progress/--no-progress";
  return {
      flag(
          "--progress", "Show progress on standard error (default: if that is a terminal)",
          [&arguments] { arguments.progress = true; }, once),
      flag(
          "--no-progress", "Show no progress", [&arguments] { arguments.progress = false; }, once)};
}

Options with_progress(Options options, Arguments& arguments) {
  append(options, progress_flags(arguments));
  return options;
}

Options solve_words(Arguments& a) {
  Options all = solve_options(a);
  all.push_back(flag("--strict",
                     "Exit with status 1, and write no x, where there is a doubt about x",
                     [&a] { a.solve.options.strict = true; }));
  return with_progress(std::move(all), a);
}

Options compare_words(Arguments& a) {
  Options all = compare_options(a);
  all.push_back(flag("--levels",
                     "Compare levels of precision, from FP64 to 16 bits throughout, on a system "
                     "whose x is known",
                     [&a] { a.compare.levels = true; }));
  all.push_back(flag("--accuracy",
                     "Compare solvers by the error of x and by time, on a system whose x is known",
                     [&a] { a.compare.accuracy = true; }));
  return with_progress(std::move(all), a);
}

Options predicted_words(Options options, Arguments& a) {
  append(options, predict_options(a));
  return with_progress(std::move(options), a);
}

std::vector<CommandWords> run_commands(Arguments& a) {
  SolveArguments& solve = a.solve;
  return {
      {"solve",
       Command::solve,
       "Solve a system of your own, A x = b",
       {{"A", "Matrix Market or NumPy file of the matrix; FILE.npz:NAME for one of several arrays",
         &solve.a, true},
        {"b", "File of the right-hand sides (default: A times ones)", &solve.b}},
       solve_words(a)},
      {"mxp", Command::mxp, "Run HPL-MxP on all ranks", {}, with_progress(mxp_options(a), a)},
      {"hpl", Command::hpl, "Run HPL in FP64 on all ranks", {}, with_progress(hpl_options(a), a)},
      {"bench",
       Command::bench,
       "Run HPL-MxP and HPL, and compare them",
       {},
       with_progress(bench_options(a), a)},
      {"compare",
       Command::compare,
       "Time HPL-MxP, HPL, solve and LAPACK on one matrix, and the rates that bound them",
       {},
       compare_words(a)},
      {"tune",
       Command::tune,
       "Find block size, look-ahead and chunks for this machine",
       {},
       with_progress(tune_options(a), a)},
      {"check",
       Command::check,
       "Check all nodes of a job, and name those that stand out",
       {},
       with_progress(check_options(a), a)}};
}

std::vector<CommandWords> predict_commands(Arguments& a) {
  return {
      {"predict",
       Command::calibrate,
       "Predict a run on a machine that is not here",
       {},
       calibrate_options(a),
       false},
      {"predict mxp",
       Command::mxp,
       "Predict a run of HPL-MxP",
       {},
       predicted_words(mxp_options(a), a)},
      {"predict hpl", Command::hpl, "Predict a run of HPL", {}, predicted_words(hpl_options(a), a)},
      {"predict solve",
       Command::solve,
       "Predict what the LU and the corrections of a system of your own cost",
       {},
       predict_solve_options(a)},
      {"predict bench",
       Command::bench,
       "Predict both, and compare them",
       {},
       predicted_words(bench_options(a), a)}};
}

std::vector<CommandWords> other_commands(Arguments& a) {
  return {{"info", Command::info, "What Speedwell finds on this node", {}, info_options(a), false},
          {"verify",
           Command::verify,
           "Check a folder of bench --submission: scores, residuals, rules",
           {{"FOLDER", "Folder of the submission", &a.submission, true}},
           {},
           false},
          {"examples", Command::print, "Command lines to paste", {}, {}, false},
          {"help",
           Command::print,
           "Print the help of a command, as COMMAND --help does",
           {{"COMMAND", "Command (default: an overview)", &a.topic}},
           {},
           false},
          {"man", Command::print, "Print the man page, for man -l -", {}, {}, false}};
}

}  // namespace

std::vector<CommandWords> command_table(Arguments& a) {
  std::vector<CommandWords> all = run_commands(a);
  std::ranges::move(predict_commands(a), std::back_inserter(all));
  std::ranges::move(other_commands(a), std::back_inserter(all));
  return all;
}

std::string usage_of(const CommandWords& command) {
  std::string text = "speedwell " + command.name;
  for (const Positional& one : command.positionals)
    text += one.required ? " " + one.name : fmt::format(" [{}]", one.name);
  return text;
}

std::string footer_of(const CommandWords& command) {
  if (!command.computes) return "";
  const bool has_profile = std::ranges::any_of(
      command.options, [](const Option& option) { return option.names == "--profile"; });
  const bool predicted = command.name.starts_with("predict");
  const std::string environment =
      fmt::format("Environment: OMP_NUM_THREADS, if set, stands for --threads{}.\n",
                  has_profile ? ", and SPEEDWELL_PROFILE for --profile" : "") +
      "OPENBLAS_CORETYPE names OpenBLAS's kernels; by default Speedwell chooses better ones where\n"
      "OpenBLAS has taken some that are slow on this processor.\n";
  return (predicted ? "" : environment) +
         "Exit status: 0 passed or solved; 1 not passed or not solved; 2 an option or input is "
         "not\n"
         "allowed; 3 a failure, such as a lack of memory.";
}

}  // namespace speedwell
