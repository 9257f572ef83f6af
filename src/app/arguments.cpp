// SPDX-License-Identifier: BSD-3-Clause
#include "app/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lupine/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/command_options.hpp"
#include "app/option.hpp"
#include "core/matrix_traits.hpp"
#include "io/text.hpp"
#include "revision.hpp"

namespace lupine {

namespace {

void add_options(CLI::App& app, const Options& options, Arguments& arguments) {
  for (const Option& option : options)
    app.add_option_function<std::string>(option.names, option.set, option.help)
        ->type_name(option.placeholder);
  app.add_flag_callback(
      "--progress", [&] { arguments.progress = true; },
      "Show progress on standard error (default: if that is a terminal)");
  app.add_flag_callback(
      "--no-progress", [&] { arguments.progress = false; }, "Show no progress");
  const bool has_profile = app.get_option_no_throw("--profile") != nullptr;
  const std::string environment =
      fmt::format("Environment: OMP_NUM_THREADS, if set, stands for --threads{}.\n",
                  has_profile ? ", and LUPINE_PROFILE for --profile" : "") +
      "OPENBLAS_CORETYPE, if not set, is set where OpenBLAS would pick kernels slower than the\n"
      "processor allows.\n";
  app.footer(
      (arguments.predict.on ? "" : environment) +
      "Exit status: 0 passed or solved; 1 not passed or not solved; 2 an option or input is not\n"
      "allowed; 3 a failure, such as a lack of memory.");
}

void require_no_extras(const CLI::App& app, const std::string& command) {
  for (const std::string& word : app.remaining())
    throw UsageError(fmt::format("unknown {} '{}'; allowed are those of '{} --help'",
                                 word.rfind('-', 0) == 0 ? "option" : "argument", printable(word),
                                 command));
}

/// The options for values that HPL.dat gives too.
constexpr std::array dat_option_names{"-N,--n",    "--nb",        "-P,--nprow", "-Q,--npcol",
                                      "--nporder", "--lookahead", "--bcast",    "--nbmin",
                                      "--ndiv",    "--threshold"};

void require_use(const Arguments& arguments, const Normalizer& normalizer) {
  const BenchmarkOptions& o = arguments.options;
  for (const char* names : {"--kappa", "--rho"})
    if (normalizer.given(names) && !traits_of(o.matrix).tunable)
      throw UsageError(fmt::format("{}: allowed only with --matrix {}", names,
                                   matrices_where(&MatrixTraits::tunable, true)));
  for (const char* names : {"--nbmin", "--ndiv"})
    if (normalizer.given(names) && arguments.command == Command::mxp &&
        o.pivoting == Pivoting::none)
      throw UsageError(fmt::format("{}: allowed only with --pivot partial", names));
  for (const char* names : dat_option_names)
    if (normalizer.given("-i,--dat") && normalizer.given(names))
      throw UsageError(fmt::format("{} and -i,--dat both say it; allowed: one of them", names));
}

/// Options of `lupine compare` that are HPL-MxP's or HPL's: lupine::solve and LAPACK have no use
/// for them.
constexpr std::array benchmark_option_names{"--precision,--sloppy-type", "--hpl-nb",
                                            "--pivot,--pivoting", "--nbmin", "--ndiv"};

/// Options of `lupine compare` that have no use where levels of precision are compared.
constexpr std::array solver_option_names{"--solvers,--contestants", "--hpl-nb",
                                         "--pivot,--pivoting", "--rhs"};

/// The precisions and the matrix of a comparison of levels; refuses what belongs to other solvers.
void settle_levels(CompareOptions& compare, const Normalizer& normalizer) {
  for (const char* names : solver_option_names)
    if (normalizer.given(names))
      throw UsageError(fmt::format(
          "{}: not allowed with --levels, where A has one right-hand side, levels of precision "
          "are all that is compared, and rows are exchanged",
          names));
  if (!compare.gallery && normalizer.given("--matrix"))
    throw UsageError(fmt::format(
        "--matrix: with --levels a matrix that a user may have; allowed: {}", gallery_list()));
  if (!compare.gallery) compare.gallery = GalleryKind::shifted;
  if (field_of_kind(*compare.gallery) == Field::complex)
    throw UsageError(fmt::format("--matrix {}: with --levels a real matrix; allowed: {}",
                                 name(*compare.gallery), real_gallery_list()));
  const auto too_wide = [](Precision precision) { return bytes_of(precision) != 2; };
  if (normalizer.given("--precision,--sloppy-type") &&
      std::ranges::any_of(compare.precisions, too_wide))
    throw UsageError(
        "--precision: with --levels that of the 16 bits; allowed: fp16, bf16, or both");
  std::erase_if(compare.precisions, too_wide);
}

/// The matrix of a comparison of accuracies; refuses what such a one does not have.
void settle_accuracy(CompareOptions& compare, const Normalizer& normalizer) {
  if (compare.levels)
    throw UsageError("--accuracy and --levels are two comparisons; allowed: one of them");
  if (normalizer.given("--rhs"))
    throw UsageError(
        "--rhs: not allowed with --accuracy, where x is known and A has one right-hand side");
  if (!compare.gallery && normalizer.given("--matrix"))
    throw UsageError(fmt::format(
        "--matrix: with --accuracy a matrix that a user may have; allowed: {}", gallery_list()));
  if (!compare.gallery) compare.gallery = GalleryKind::gaussian;
}

/// The solvers that take part with a user matrix; refuses what belongs to the benchmarks.
void settle_gallery(CompareOptions& compare, const Normalizer& normalizer) {
  const std::string matrix = fmt::format("--matrix {}", name(compare.gallery.value()));
  for (const char* names : benchmark_option_names)
    if (normalizer.given(names))
      throw UsageError(fmt::format("{}: not allowed with {}; allowed with a benchmark's matrix: {}",
                                   names, matrix, allowed_names<MatrixKind>()));
  if (!normalizer.given("--solvers,--contestants")) {
    compare.solvers = {SolverKind::solve, SolverKind::dgesv, SolverKind::dsgesv,
                       SolverKind::dgesvx};
    if (compare.accuracy) compare.solvers.push_back(SolverKind::dgesvxx);
    return;
  }
  for (const SolverKind solver : compare.solvers)
    if (solver == SolverKind::mxp || solver == SolverKind::hpl)
      throw UsageError(fmt::format(
          "--solvers {}: not allowed with {}; allowed there: solve, dgesv, dsgesv, dgesvx, dgesvxx",
          name(solver), matrix));
}

void require_files(const CLI::App& app, const SolveArguments& files) {
  constexpr const char* allowed = "allowed: lupine solve A [b] [options]";
  if (files.a.empty())
    throw UsageError(fmt::format("A, the file of the matrix, is missing; {}", allowed));
  if (files.b.empty() && app.count("b") > 0)
    throw UsageError(fmt::format("b, the file of right-hand sides, has no name; {}", allowed));
}

void require_one_precision(const SolveOptions& o) {
  if (o.precision != Precision::automatic && o.first != Precision::automatic)
    throw UsageError(
        fmt::format("--first {} and --precision {} both choose a precision; allowed: --first with "
                    "--precision auto, or --precision alone",
                    name(o.first), name(o.precision)));
}

/// Whether no option was given that chooses something an HPL.dat gives. Only then is an HPL.dat in
/// the current folder read without -i.
bool says_nothing_of_dat(const Normalizer& normalizer) {
  const auto given = [&](const char* names) { return normalizer.given(names); };
  return !given("-i,--dat") && !given("--time-target") && !given("--memory-fraction") &&
         std::none_of(dat_option_names.begin(), dat_option_names.end(), given);
}

/// Makes the lists of P and Q equally long. If one of them was not given, it is open (0) in each
/// pair.
void pair_grids(HplDat& dat, const Normalizer& normalizer) {
  const bool p = normalizer.given("-P,--nprow");
  const bool q = normalizer.given("-Q,--npcol");
  if (!p) dat.p.assign(dat.q.size(), 0);
  if (!q) dat.q.assign(dat.p.size(), 0);
  if (dat.p.size() != dat.q.size())
    throw UsageError(
        fmt::format("-P,--nprow has {} values and -Q,--npcol {}; allowed: as many of one as of the "
                    "other, for they make pairs",
                    dat.p.size(), dat.q.size()));
}

/// A command with options.
struct CommandWords {
  std::string_view name;
  Command command;
  Options options;
  CLI::App* app;
};

CLI::App* add_command(CLI::App& app, const char* name, const char* help) {
  return app.add_subcommand(name, help)->allow_extras();
}

std::vector<CommandWords> commands_with_options(CLI::App& app, Arguments& arguments) {
  std::vector<CommandWords> all{
      {"mxp", Command::mxp, mxp_options(arguments),
       add_command(app, "mxp", "Run HPL-MxP on all ranks")},
      {"hpl", Command::hpl, hpl_options(arguments),
       add_command(app, "hpl", "Run HPL in FP64 on all ranks")},
      {"bench", Command::bench, bench_options(arguments),
       add_command(app, "bench", "Run HPL-MxP and HPL, and compare them")},
      {"compare", Command::compare, compare_options(arguments),
       add_command(
           app, "compare",
           "Time HPL-MxP, HPL, solve and LAPACK on one matrix, and the rates that bound them")},
      {"tune", Command::tune, tune_options(arguments),
       add_command(app, "tune", "Find block size, look-ahead and chunks for this machine")},
      {"check", Command::check, check_options(arguments),
       add_command(app, "check", "Check all nodes of a job, and name those that stand out")},
      {"solve", Command::solve, solve_options(arguments),
       add_command(app, "solve", "Solve a system of your own, A x = b")}};
  CLI::App& solve = *all.back().app;
  solve.add_option(
      "A", arguments.solve.a,
      "Matrix Market or NumPy file of the matrix; FILE.npz:NAME for one of several arrays");
  solve.add_option("b", arguments.solve.b, "File of the right-hand sides (default: A times ones)");
  CLI::App& compare = *std::ranges::find(all, Command::compare, &CommandWords::command)->app;
  compare.add_flag(
      "--levels", arguments.compare.levels,
      "Compare levels of precision, from FP64 to 16 bits throughout, on a system whose "
      "x is known");
  compare.add_flag("--accuracy", arguments.compare.accuracy,
                   "Compare solvers by the error of x and by time, on a system whose x is known");
  solve.add_flag("--strict", arguments.solve.options.strict,
                 "Exit with status 1, and write no x, where there is a doubt about x");
  for (const CommandWords& one : all) add_options(*one.app, one.options, arguments);
  return all;
}

/// The commands behind `predict`, and `predict` itself, which has options of its own.
std::vector<CommandWords> predicted_commands(CLI::App& predict, Arguments& arguments) {
  std::vector<CommandWords> all{{"mxp", Command::mxp, mxp_options(arguments),
                                 add_command(predict, "mxp", "Predict a run of HPL-MxP")},
                                {"hpl", Command::hpl, hpl_options(arguments),
                                 add_command(predict, "hpl", "Predict a run of HPL")},
                                {"bench", Command::bench, bench_options(arguments),
                                 add_command(predict, "bench", "Predict both, and compare them")}};
  for (CommandWords& one : all) {
    append(one.options, predict_options(arguments));
    add_options(*one.app, one.options, arguments);
    if (one.command == Command::bench) continue;
    one.app->add_flag("--search", arguments.predict.search,
                      "Look for the best n, grid, block size, look-ahead, broadcast and chunk");
  }
  all.push_back({"", Command::calibrate, calibrate_options(arguments), &predict});
  for (const Option& option : all.back().options)
    predict.add_option_function<std::string>(option.names, option.set, option.help)
        ->type_name(option.placeholder);
  return all;
}

void require_use_of_prediction(const Arguments& arguments, const Normalizer& normalizer) {
  const PredictArguments& p = arguments.predict;
  if (p.machine.empty())
    throw UsageError("--machine is missing; allowed: a machine file, or the name of a machine");
  if (p.search && !p.scale.empty())
    throw UsageError("--search and --scale are two tasks; allowed: one of them");
  if (!p.scale.empty() && p.ranks != 0)
    throw UsageError("--scale and --ranks both say how many ranks; allowed: one of them");
  const bool study = p.search || !p.scale.empty();
  if (study && arguments.command == Command::bench)
    throw UsageError("--scale: allowed with predict mxp and predict hpl");
  if (study && (!arguments.trace.empty() || normalizer.given("--repeat")))
    throw UsageError("--trace and --repeat: allowed without --search and --scale");
  if (normalizer.given("--plot") && p.scale.empty())
    throw UsageError("--plot: allowed only with --scale");
  if (normalizer.given("--budget") && !p.search)
    throw UsageError("--budget: allowed only with --search");
  for (const char* names :
       {"--monitor", "--monitor-temperature", "--monitor-clock", "--monitor-power"})
    if (normalizer.given(names))
      throw UsageError(fmt::format("{}: nothing runs here; allowed without predict", names));
  if (normalizer.given("--profile"))
    throw UsageError("--profile: it is of a machine that is here; allowed without predict");
  if (arguments.options.matrix == MatrixKind::dominant)
    throw UsageError(
        "--matrix dominant: its diagonal is not predicted; allowed: scaled-diagonal, fasi-higham");
}

/// What must be equal on all ranks: the command's options as they were given, but for the paths of
/// files that rank 0 alone writes.
std::vector<OptionText> common_options(const CommandWords& command, const Arguments& arguments,
                                       const Normalizer& normalizer) {
  std::vector<OptionText> all{{"A", arguments.solve.a},
                              {"b", arguments.solve.b},
                              {"--strict", option_text(arguments.solve.options.strict)}};
  for (const Option& option : command.options) {
    const std::string& names = option.names;
    if (names == "--json" || names == "--baseline" || names == "--plot" || names == "--report")
      continue;
    const bool traced = names == "--trace" && normalizer.given(names);
    all.push_back({names.substr(0, names.find(',')), traced ? "given" : normalizer.value(names)});
  }
  return all;
}

void settle(const CommandWords& command, Arguments& arguments, const Normalizer& normalizer) {
  arguments.command = command.command;
  arguments.common = common_options(command, arguments, normalizer);
  if (command.command == Command::hpl) arguments.options.benchmark = Benchmark::hpl;
  if (command.command == Command::calibrate) {
    if (arguments.predict.calibrate.empty())
      throw UsageError(
          "predict what? allowed: lupine predict mxp|hpl|bench --machine NAME|FILE, or "
          "lupine predict --calibrate FILE");
    return;
  }
  if (arguments.predict.on) require_use_of_prediction(arguments, normalizer);
  arguments.predict.broadcast_given = normalizer.given("--bcast");
  require_use(arguments, normalizer);
  pair_grids(arguments.choices, normalizer);
  const bool has_dat = command.command == Command::mxp || command.command == Command::hpl;
  arguments.may_take_dat = has_dat && says_nothing_of_dat(normalizer);
  if (command.command == Command::solve) {
    require_files(*command.app, arguments.solve);
    require_one_precision(arguments.solve.options);
  }
  if (command.command != Command::compare) return;
  if (!normalizer.given("--repeat")) arguments.repeat = 3;
  if (arguments.compare.accuracy) settle_accuracy(arguments.compare, normalizer);
  if (arguments.compare.levels)
    settle_levels(arguments.compare, normalizer);
  else if (arguments.compare.gallery)
    settle_gallery(arguments.compare, normalizer);
  else if (arguments.compare.rhs != 1)
    throw UsageError(fmt::format(
        "--rhs: the system of the benchmarks has 1 right-hand side; several are allowed "
        "with a user's matrix: --matrix {}",
        gallery_list()));
}

}  // namespace

HplDat open_choices() {
  HplDat dat;
  dat.n = dat.nb = {0};
  dat.p = dat.q = dat.nbmin = {0};
  dat.ndiv = {BenchmarkOptions{}.ndiv};
  dat.depth = {RunOptions{}.lookahead};
  dat.broadcast = {RunOptions{}.broadcast};
  dat.pfact = dat.rfact = {PanelFactor::right};
  return dat;
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  CLI::App app("Half-precision speed, double-precision answers for dense linear systems", "lupine");
  app.set_version_flag("--version", fmt::format("lupine {} ({})", LUPINE_VERSION, LUPINE_REVISION));
  app.allow_extras()->require_subcommand(0, 1);
  arguments.predict.on = !words.empty() && words[0] == "predict";
  CLI::App& predict = *add_command(app, "predict", "Predict a run on a machine that is not here");
  predict.require_subcommand(0, 1);
  CLI::App& info = *app.add_subcommand("info", "What Lupine finds on this node")->allow_extras();
  std::vector<CommandWords> commands;
  if (!arguments.predict.on) commands = commands_with_options(app, arguments);
  const std::vector<CommandWords> predicted = predicted_commands(predict, arguments);
  if (arguments.predict.on) commands = predicted;

  const std::size_t first = arguments.predict.on ? 1 : 0;
  const std::string named = words.size() > first ? words[first] : "";
  auto command = std::ranges::find(commands, named, &CommandWords::name);
  if (command == commands.end() && arguments.predict.on) {
    if (named[0] != '-')
      throw UsageError(fmt::format("predict '{}'? allowed: mxp, hpl, bench, or --calibrate FILE",
                                   printable(named)));
    command = commands.end() - 1;
  }
  const bool has_options = command != commands.end();
  const Options none;
  Normalizer normalizer(has_options ? std::string(command->name) : "",
                        has_options ? command->options : none);
  std::vector<std::string> rest = has_options ? normalizer(words) : words;
  std::reverse(rest.begin(), rest.end());  // CLI11 takes the last word first
  try {
    app.parse(rest);
  } catch (const CLI::CallForVersion& version) {
    arguments.text = fmt::format("{}\n", version.what());
    return arguments;
  } catch (const CLI::CallForHelp&) {
    arguments.text = app.help();
    return arguments;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const CommandWords& one : commands)
    require_no_extras(*one.app,
                      fmt::format("lupine {}{}{}", arguments.predict.on ? "predict" : "",
                                  arguments.predict.on && !one.name.empty() ? " " : "", one.name));
  require_no_extras(info, "lupine info");
  if (app.get_subcommands().empty())
    throw UsageError(fmt::format(
        "{}; allowed: mxp, hpl, bench, compare, tune, check, solve, predict, info, --help, "
        "--version",
        words.empty() ? "no command" : fmt::format("unknown command '{}'", printable(words[0]))));
  require_no_extras(app, "lupine");
  arguments.command = Command::info;
  if (has_options) settle(*command, arguments, normalizer);
  return arguments;
}

std::string quoted(const std::vector<std::string>& words) {
  constexpr std::string_view plain =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%";
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    if (!word.empty() && word.find_first_not_of(plain) == word.npos) {
      text += word;
      continue;
    }
    text += '\'';
    for (char c : word) c == '\'' ? text += "'\\''" : text += c;
    text += '\'';
  }
  return text;
}

std::optional<int> positive_number(const char* text) {
  if (text == nullptr) return std::nullopt;
  const auto value = read<int>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

}  // namespace lupine
