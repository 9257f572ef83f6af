// SPDX-License-Identifier: BSD-3-Clause
#include "app/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <speedwell/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/command_table.hpp"
#include "app/examples.hpp"
#include "app/man_page.hpp"
#include "app/option.hpp"
#include "app/suggestion.hpp"
#include "core/matrix_traits.hpp"
#include "io/text.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

/// The command below `parent`, as CLI11 shows its help.
CLI::App* add_command(CLI::App& parent, const CommandWords& command) {
  CLI::App* app = parent.add_subcommand(command.word(), command.help);
  for (const Positional& word : command.positionals)
    app->add_option(word.name, *word.target, word.help);
  for (const Option& option : command.options)
    if (option.is_flag())
      app->add_flag(option.names, option.help);
    else
      app->add_option_function<std::string>(option.names, option.set, option.help)
          ->type_name(option.placeholder);
  app->footer(footer_of(command));
  return app;
}

std::string version_text() {
  return fmt::format("speedwell {} ({})", SPEEDWELL_VERSION, SPEEDWELL_REVISION);
}

/// The help of a command; null: of all.
std::string help_text(const std::vector<CommandWords>& table, const CommandWords* command) {
  CLI::App app(tagline, "speedwell");
  app.set_version_flag("-V,--version", version_text());
  app.require_subcommand(0, 1);
  std::string words;
  const CLI::App* shown = &app;
  for (const CommandWords& one : table) {
    CLI::App* const parent = one.word() == one.name ? &app : app.get_subcommand("predict");
    const CLI::App* const added = add_command(*parent, one);
    if (&one != command) continue;
    shown = added;
    words = parent == &app ? "speedwell" : "speedwell predict";
  }
  app.get_subcommand("predict")->require_subcommand(0, 1);
  return shown->help(words);
}

/// The names that an unknown word behind the command may have meant.
std::vector<std::string> long_names(const CommandWords& command) {
  std::vector<std::string> names{"--help"};
  for (const Option& option : command.options)
    for (const std::string& name : names_of(option))
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

/// Gives the words that are no options to the command's arguments.
/// @throws UsageError where there is none for a word, or no word for one that is required
void take_words(const CommandWords& command, const GivenOptions& given) {
  const auto refuse = [&](const char* kind, const std::string& word, const std::string& meant) {
    throw UsageError(fmt::format("unknown {} '{}'{} allowed are those of 'speedwell {} --help'",
                                 kind, printable(word), meant, command.name));
  };
  auto next = command.positionals.begin();
  const auto take = [&](const std::string& word) {
    if (next == command.positionals.end()) refuse("argument", word, ";");
    if (word.empty())
      throw UsageError(fmt::format("{} has no name; allowed: {}", next->name, usage_of(command)));
    *next++->target = word;
  };
  for (const std::string& word : given.others()) {
    if (word.size() > 1 && word[0] == '-')
      refuse("option", word, suggestion(word.substr(0, word.find('=')), long_names(command)));
    take(word);
  }
  for (const std::string& word : given.operands()) take(word);
  if (next == command.positionals.end() || !next->required) return;
  throw UsageError(fmt::format("{} is missing; allowed: {}", next->name, usage_of(command)));
}

/// The options for values that HPL.dat gives too.
constexpr std::array dat_option_names{"-N,--n",    "--nb",        "-P,--nprow", "-Q,--npcol",
                                      "--nporder", "--lookahead", "--bcast",    "--nbmin",
                                      "--ndiv",    "--threshold"};

void require_use(const Arguments& arguments, const GivenOptions& given) {
  const BenchmarkOptions& o = arguments.options;
  for (const char* names : {"--kappa", "--rho"})
    if (given.has(names) && !traits_of(o.matrix).tunable)
      throw UsageError(fmt::format("{}: allowed only with --matrix {}", names,
                                   matrices_where(&MatrixTraits::tunable, true)));
  for (const char* names : {"--nbmin", "--ndiv"})
    if (given.has(names) && arguments.command == Command::mxp && o.pivoting == Pivoting::none)
      throw UsageError(fmt::format("{}: allowed only with --pivot partial", names));
  for (const char* names : dat_option_names)
    if (given.has("-i,--dat") && given.has(names))
      throw UsageError(fmt::format("{} and -i,--dat both say it; allowed: one of them", names));
}

/// Options of `speedwell compare` that are HPL-MxP's or HPL's: speedwell::solve and LAPACK have no
/// use for them.
constexpr std::array benchmark_option_names{"--precision,--sloppy-type", "--hpl-nb",
                                            "--pivot,--pivoting", "--nbmin", "--ndiv"};

/// Options of `speedwell compare` that have no use where levels of precision are compared.
constexpr std::array solver_option_names{"--solvers", "--hpl-nb", "--pivot,--pivoting", "--rhs"};

/// The precisions and the matrix of a comparison of levels; refuses what belongs to other solvers.
void settle_levels(CompareOptions& compare, const GivenOptions& given) {
  for (const char* names : solver_option_names)
    if (given.has(names))
      throw UsageError(fmt::format(
          "{}: not allowed with --levels, where A has one right-hand side, levels of precision "
          "are all that is compared, and rows are exchanged",
          names));
  if (!compare.gallery && given.has("--matrix"))
    throw UsageError(fmt::format(
        "--matrix: with --levels a matrix that a user may have; allowed: {}", gallery_list()));
  if (!compare.gallery) compare.gallery = GalleryKind::shifted;
  if (field_of_kind(*compare.gallery) == Field::complex)
    throw UsageError(fmt::format("--matrix {}: with --levels a real matrix; allowed: {}",
                                 name(*compare.gallery), real_gallery_list()));
  const auto too_wide = [](Precision precision) { return bytes_of(precision) != 2; };
  if (given.has("--precision,--sloppy-type") && std::ranges::any_of(compare.precisions, too_wide))
    throw UsageError(
        "--precision: with --levels that of the 16 bits; allowed: fp16, bf16, or both");
  std::erase_if(compare.precisions, too_wide);
}

/// The matrix of a comparison of accuracies; refuses what such a one does not have.
void settle_accuracy(CompareOptions& compare, const GivenOptions& given) {
  if (compare.levels)
    throw UsageError("--accuracy and --levels are two comparisons; allowed: one of them");
  if (given.has("--rhs"))
    throw UsageError(
        "--rhs: not allowed with --accuracy, where x is known and A has one right-hand side");
  if (!compare.gallery && given.has("--matrix"))
    throw UsageError(fmt::format(
        "--matrix: with --accuracy a matrix that a user may have; allowed: {}", gallery_list()));
  if (!compare.gallery) compare.gallery = GalleryKind::gaussian;
}

/// The solvers that take part with a user matrix; refuses what belongs to the benchmarks.
void settle_gallery(CompareOptions& compare, const GivenOptions& given) {
  const std::string matrix = fmt::format("--matrix {}", name(compare.gallery.value()));
  for (const char* names : benchmark_option_names)
    if (given.has(names))
      throw UsageError(fmt::format("{}: not allowed with {}; allowed with a benchmark's matrix: {}",
                                   names, matrix, allowed_names<MatrixKind>()));
  if (!given.has("--solvers")) {
    compare.solvers = {SolverKind::solve, SolverKind::dgesv, SolverKind::dsgesv,
                       SolverKind::dgesvx};
    if (compare.accuracy) compare.solvers.push_back(SolverKind::dgesvxx);
    return;
  }
  for (const SolverKind solver : compare.solvers)
    if (solver == SolverKind::mxp || solver == SolverKind::hpl)
      throw UsageError(fmt::format(
          "--solvers {}: not allowed with {}; allowed there: solve, dgesv, dsgesv, dgesvx, dgesvxx",
          traits(solver).name, matrix));
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
bool says_nothing_of_dat(const GivenOptions& given) {
  const auto has = [&](const char* names) { return given.has(names); };
  return !has("-i,--dat") && !has("--time-target") && !has("--memory-fraction") &&
         std::ranges::none_of(dat_option_names, has);
}

void require_use_of_prediction(const Arguments& arguments, const GivenOptions& given) {
  const PredictArguments& p = arguments.predict;
  if (p.machine.empty())
    throw UsageError("--machine is missing; allowed: a machine file, or the name of a machine");
  if (arguments.command == Command::solve && p.n == 0)
    throw UsageError(fmt::format("-N, the order of A, is missing; allowed: {}",
                                 range_text<std::int64_t>(range_of("n"))));
  for (const char* names : {"--monitor", "--monitor-temperature", "--monitor-clock",
                            "--monitor-power", "--submission", "--blas"})
    if (given.has(names))
      throw UsageError(fmt::format("{}: nothing runs here; allowed without predict", names));
  if (given.has("--profile"))
    throw UsageError("--profile: it is of a machine that is here; allowed without predict");
  if (arguments.options.matrix == MatrixKind::dominant)
    throw UsageError(
        "--matrix dominant: its diagonal is not predicted; allowed: scaled-diagonal, fasi-higham");
}

/// Options with paths of files that rank 0 alone reads or writes.
constexpr std::array of_rank_0{"--json", "--baseline", "--report", "--submission"};

/// What must be equal on all ranks: the command's options as they were given, but for the paths of
/// files that rank 0 alone writes.
std::vector<OptionText> common_options(const CommandWords& command, const Arguments& arguments,
                                       const GivenOptions& given) {
  std::vector<OptionText> all{{"A", arguments.solve.a},
                              {"b", arguments.solve.b},
                              {"--strict", option_text(arguments.solve.options.strict)}};
  for (const Option& option : command.options) {
    const std::string& names = option.names;
    if (std::ranges::find(of_rank_0, names) != of_rank_0.end()) continue;
    const bool traced = names == "--trace" && given.has(names);
    all.push_back({names.substr(0, names.find(',')), traced ? "given" : given.value(names)});
  }
  return all;
}

void settle(const CommandWords& command, Arguments& arguments, const GivenOptions& given) {
  arguments.command = command.command;
  arguments.common = common_options(command, arguments, given);
  if (command.command == Command::hpl) arguments.options.benchmark = Benchmark::hpl;
  if (command.command == Command::calibrate) {
    if (arguments.predict.calibrate.empty())
      throw UsageError(
          "predict what? allowed: speedwell predict mxp|hpl|bench|solve --machine NAME|FILE, or "
          "speedwell predict --calibrate FILE");
    return;
  }
  if (arguments.predict.on) require_use_of_prediction(arguments, given);
  require_use(arguments, given);
  pair_grids(arguments.choices);
  const bool has_dat = command.command == Command::mxp || command.command == Command::hpl;
  arguments.may_take_dat = has_dat && says_nothing_of_dat(given);
  if (command.command == Command::solve) require_one_precision(arguments.solve.options);
  if (command.command != Command::compare) return;
  if (!given.has("--repeat")) arguments.repeat = 3;
  if (arguments.compare.accuracy) settle_accuracy(arguments.compare, given);
  if (arguments.compare.levels)
    settle_levels(arguments.compare, given);
  else if (arguments.compare.gallery)
    settle_gallery(arguments.compare, given);
  else if (arguments.compare.rhs != 1)
    throw UsageError(fmt::format(
        "--rhs: the system of the benchmarks has 1 right-hand side; several are allowed "
        "with a user's matrix: --matrix {}",
        gallery_list()));
}

/// Refuses words that name no command.
[[noreturn]] void refuse_command(const std::vector<CommandWords>& table,
                                 const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CommandWords& one : table)
    if (one.word() == one.name) names.push_back(one.name);
  names.insert(names.end(), {"--help", "--version"});
  const std::string what =
      words.empty()
          ? "no command;"
          : fmt::format("unknown command '{}'{}", printable(words[0]), suggestion(words[0], names));
  throw UsageError(fmt::format("{} allowed: {}", what, fmt::join(names, ", ")));
}

/// The command that the words name. @throws UsageError where they name none
const CommandWords& command_of(const std::vector<CommandWords>& table,
                               const std::vector<std::string>& words) {
  if (words.empty()) refuse_command(table, words);
  const bool is_predicted = words[0] == "predict" && words.size() > 1 && !words[1].starts_with('-');
  const auto command = std::ranges::find(table, is_predicted ? "predict " + words[1] : words[0],
                                         &CommandWords::name);
  if (command != table.end()) return *command;
  if (!is_predicted) refuse_command(table, words);
  throw UsageError(
      fmt::format("predict '{}'{} allowed: mxp, hpl, bench, solve, or --calibrate FILE",
                  printable(words[1]), suggestion(words[1], {"mxp", "hpl", "bench", "solve"})));
}

/// "help COMMAND" as "COMMAND --help", and "help" alone as "--help"; other words as they are.
std::vector<std::string> without_help(const std::vector<std::string>& words) {
  const bool asks =
      !words.empty() && words[0] == "help" && (words.size() == 1 || !words[1].starts_with('-'));
  if (!asks) return words;
  std::vector<std::string> rest(words.begin() + 1, words.end());
  const std::size_t most = !rest.empty() && rest[0] == "predict" ? 2 : 1;
  if (rest.size() > most)
    throw UsageError(
        fmt::format("unknown argument '{}'; allowed are those of 'speedwell help --help'",
                    printable(rest[most])));
  rest.emplace_back("--help");
  return rest;
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& command_line) {
  const std::vector<std::string> words = without_help(command_line);
  Arguments arguments;
  const std::vector<CommandWords> table = command_table(arguments);
  const auto is_help = [](const std::string& word) { return word == "-h" || word == "--help"; };
  if (!words.empty() && (words[0] == "-V" || words[0] == "--version")) {
    arguments.text = version_text() + "\n";
    return arguments;
  }
  if (!words.empty() && is_help(words[0])) {
    arguments.text = help_text(table, nullptr);
    return arguments;
  }
  const CommandWords& command = command_of(table, words);
  if (std::any_of(words.begin(), std::ranges::find(words, "--"), is_help)) {
    arguments.text = help_text(table, &command);
    return arguments;
  }
  arguments.predict.on = words[0] == "predict";
  const std::size_t names = command.word() == command.name ? 1 : 2;
  const GivenOptions given(command.options, std::span(words).subspan(names));
  take_words(command, given);
  given.store();
  if (command.command == Command::print)
    arguments.text = command.name == "man"        ? man_page(table)
                     : command.name == "examples" ? examples_text()
                                                  : help_text(table, nullptr);
  else if (command.command == Command::info || command.command == Command::verify)
    arguments.command = command.command;
  else
    settle(command, arguments, given);
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
  const auto value = number<int>(text);
  return value && *value >= 1 ? value : std::nullopt;
}

}  // namespace speedwell
