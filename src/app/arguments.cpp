// SPDX-License-Identifier: BSD-3-Clause
#include "app/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <speedwell/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/command_table.hpp"
#include "app/completion.hpp"
#include "app/examples.hpp"
#include "app/man_page.hpp"
#include "app/option.hpp"
#include "app/suggestion.hpp"
#include "core/matrix_traits.hpp"
#include "io/settings.hpp"
#include "io/text.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

/// The command below `parent`, as CLI11 reads it and shows its help.
CLI::App* add_command(CLI::App& parent, const CommandWords& command) {
  CLI::App* app = parent.add_subcommand(command.word(), command.help)->allow_extras();
  for (const Positional& word : command.positionals)
    app->add_option(word.name, *word.target,
                    word.choices.empty() || word.choices.size() > 3
                        ? word.help
                        : fmt::format("{}: {}", word.help, fmt::join(word.choices, ", ")));
  for (const Option& option : command.options)
    if (option.is_flag())
      app->add_flag_callback(
          option.names, [&option] { option.set(""); }, option.help);
    else
      app->add_option_function<std::string>(option.names, option.set, option.help)
          ->type_name(option.placeholder);
  app->footer(footer_of(command));
  return app;
}

/// The names that an unknown word behind the command may have meant.
std::vector<std::string> long_names(const CommandWords& command) {
  std::vector<std::string> names{"--help"};
  for (const Option& option : command.options)
    for (const std::string& name : names_of(option))
      if (name.starts_with("--")) names.push_back(name);
  return names;
}

void require_no_extras(const CLI::App& app, const CommandWords& command) {
  for (const std::string& word : app.remaining()) {
    const bool is_option = word.starts_with('-');
    const std::string meant =
        is_option ? suggestion(word.substr(0, word.find('=')), long_names(command)) : "";
    throw UsageError(fmt::format("unknown {} '{}'{} allowed are those of 'speedwell {} --help'",
                                 is_option ? "option" : "argument", printable(word),
                                 meant.empty() ? ";" : meant, command.name));
  }
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

/// Options of `speedwell compare` that are HPL-MxP's or HPL's: speedwell::solve and LAPACK have no
/// use for them.
constexpr std::array benchmark_option_names{"--precision,--sloppy-type", "--hpl-nb",
                                            "--pivot,--pivoting", "--nbmin", "--ndiv"};

/// Options of `speedwell compare` that have no use where levels of precision are compared.
constexpr std::array solver_option_names{"--solvers", "--hpl-nb", "--pivot,--pivoting", "--rhs"};

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
  if (!normalizer.given("--solvers")) {
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

void require_files(const CLI::App& app, const SolveArguments& files) {
  constexpr const char* allowed = "allowed: speedwell solve A [b] [options]";
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

void require_use_of_prediction(const Arguments& arguments, const Normalizer& normalizer) {
  const PredictArguments& p = arguments.predict;
  if (p.machine.empty())
    throw UsageError("--machine is missing; allowed: a machine file, or the name of a machine");
  if (arguments.command == Command::solve && p.n == 0)
    throw UsageError(fmt::format("-N, the order of A, is missing; allowed: {}",
                                 range_text<std::int64_t>(range_of("n"))));
  for (const char* names :
       {"--monitor", "--monitor-temperature", "--monitor-clock", "--monitor-power", "--settings",
        "--save-settings", "--submission", "--blas"})
    if (normalizer.given(names))
      throw UsageError(fmt::format("{}: nothing runs here; allowed without predict", names));
  if (normalizer.given("--profile"))
    throw UsageError("--profile: it is of a machine that is here; allowed without predict");
  if (arguments.options.matrix == MatrixKind::dominant)
    throw UsageError(
        "--matrix dominant: its diagonal is not predicted; allowed: scaled-diagonal, fasi-higham");
}

/// Options with paths of files that rank 0 alone reads or writes.
constexpr std::array of_rank_0{"--json",     "--baseline",      "--report",
                               "--settings", "--save-settings", "--submission"};

/// What must be equal on all ranks: the command's options as they were given, but for the paths of
/// files that rank 0 alone writes.
std::vector<OptionText> common_options(const CommandWords& command, const Arguments& arguments,
                                       const Normalizer& normalizer) {
  std::vector<OptionText> all{{"A", arguments.solve.a},
                              {"b", arguments.solve.b},
                              {"--strict", option_text(arguments.solve.options.strict)}};
  for (const Option& option : command.options) {
    const std::string& names = option.names;
    if (std::ranges::find(of_rank_0, names) != of_rank_0.end()) continue;
    const bool traced = names == "--trace" && normalizer.given(names);
    all.push_back({names.substr(0, names.find(',')), traced ? "given" : normalizer.value(names)});
  }
  return all;
}

/// The options of a settings file as words of the command line, without those that are given.
/// @throws UsageError that names a key which is no option
std::vector<std::string> words_of(const Settings& settings, const CommandWords& command,
                                  const Normalizer& given, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("cannot use the settings '{}': {}", printable(path, longest_path), why));
  };
  if (settings.command != command.name)
    refuse(
        fmt::format("command is '{}'; allowed: '{}'", printable(settings.command), command.name));
  std::vector<std::string> words;
  for (const auto& [key, value] : settings.options) {
    std::string name = "--" + key;
    std::ranges::replace(name, '_', '-');
    const auto option = std::ranges::find_if(command.options, [&](const Option& one) {
      return std::ranges::count(names_of(one), name) > 0 && one.names != "--settings";
    });
    if (option == command.options.end()) {
      const std::string meant = suggestion(name, long_names(command));
      refuse(fmt::format("unknown key '{}'{} allowed are the options of 'speedwell {} --help'",
                         printable(key), meant.empty() ? ";" : meant, command.name));
    } else if (option->is_flag() && value != "on") {
      refuse(fmt::format("'{}' is {}; allowed: true", printable(key), printable(value)));
    } else if (!given.given(option->once.empty() ? option->names : option->once)) {
      words.push_back(option->is_flag() ? name : fmt::format("{}={}", name, value));
    }
  }
  return words;
}

void settle(const CommandWords& command, const CLI::App& app, Arguments& arguments,
            const Normalizer& normalizer) {
  arguments.command = command.command;
  arguments.common = common_options(command, arguments, normalizer);
  if (command.command == Command::hpl) arguments.options.benchmark = Benchmark::hpl;
  if (command.command == Command::calibrate) {
    if (arguments.predict.calibrate.empty())
      throw UsageError(
          "predict what? allowed: speedwell predict mxp|hpl|bench|solve --machine NAME|FILE, or "
          "speedwell predict --calibrate FILE");
    return;
  }
  if (arguments.predict.on) require_use_of_prediction(arguments, normalizer);
  require_use(arguments, normalizer);
  pair_grids(arguments.choices);
  const bool has_dat = command.command == Command::mxp || command.command == Command::hpl;
  arguments.may_take_dat = has_dat && says_nothing_of_dat(normalizer);
  if (command.command == Command::solve && !arguments.predict.on) {
    require_files(app, arguments.solve);
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

/// The command that the words name; the end of the table where they name none.
std::vector<CommandWords>::const_iterator command_of(const std::vector<CommandWords>& table,
                                                     const std::vector<std::string>& words) {
  const auto named = [&](const std::string& name) {
    return std::ranges::find(table, name, &CommandWords::name);
  };
  if (words.empty()) return table.end();
  if (words[0] != "predict") return named(words[0]);
  if (words.size() == 1 || words[1].starts_with('-')) return named("predict");
  const std::string& behind = words[1];
  const auto command = named("predict " + behind);
  if (command == table.end()) {
    const std::string meant = suggestion(behind, {"mxp", "hpl", "bench", "solve"});
    throw UsageError(
        fmt::format("predict '{}'{} allowed: mxp, hpl, bench, solve, or --calibrate FILE",
                    printable(behind), meant.empty() ? "?" : meant));
  }
  return command;
}

/// Refuses words that name no command.
[[noreturn]] void refuse_command(const std::vector<CommandWords>& table,
                                 const std::vector<std::string>& words) {
  std::vector<std::string> names;
  for (const CommandWords& one : table)
    if (one.word() == one.name) names.push_back(one.name);
  names.insert(names.end(), {"--help", "--version"});
  const std::string meant = words.empty() ? "" : suggestion(words[0], names);
  throw UsageError(fmt::format(
      "{}{} allowed: {}",
      words.empty() ? "no command" : fmt::format("unknown command '{}'", printable(words[0])),
      meant.empty() ? ";" : meant, fmt::join(names, ", ")));
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

/// Gives the words behind "--" to the arguments that have none yet.
void take_operands(const CLI::App& app, const CommandWords& command,
                   const std::vector<std::string>& operands) {
  auto next = std::ranges::find_if(command.positionals,
                                   [&](const Positional& one) { return app.count(one.name) == 0; });
  for (const std::string& word : operands) {
    if (next == command.positionals.end() || word.empty())
      throw UsageError(
          fmt::format("unknown argument '{}'; allowed are those of 'speedwell {} --help'",
                      printable(word), command.name));
    *next++->target = word;
  }
}

/// What a command prints that only prints.
std::string text_of(const std::vector<CommandWords>& table, const CommandWords& command,
                    const std::string& topic) {
  for (const Positional& word : command.positionals) {
    if (topic.empty() && !word.required) continue;
    if (std::ranges::find(word.choices, topic) == word.choices.end()) {
      const std::string meant = suggestion(topic, word.choices);
      throw UsageError(fmt::format("{}: {} '{}'{} allowed: {}", command.name, word.name,
                                   printable(topic), meant.empty() ? " is not known;" : meant,
                                   fmt::join(word.choices, ", ")));
    }
  }
  if (command.name == "completion") return completion(table, topic);
  if (command.name == "man") return man_page(table, topic);
  return examples_text();
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& given, const std::string* settings) {
  const std::vector<std::string> words = without_help(given);
  Arguments arguments;
  const std::vector<CommandWords> table = command_table(arguments);
  CLI::App app(tagline, "speedwell");
  app.set_version_flag("-V,--version",
                       fmt::format("speedwell {} ({})", SPEEDWELL_VERSION, SPEEDWELL_REVISION));
  app.allow_extras()->require_subcommand(0, 1);
  std::vector<CLI::App*> apps;
  apps.reserve(table.size());
  for (const CommandWords& command : table)
    apps.push_back(add_command(
        command.word() == command.name ? app : *app.get_subcommand("predict"), command));
  app.get_subcommand("predict")->require_subcommand(0, 1);

  arguments.predict.on = !words.empty() && words[0] == "predict";
  const auto command = command_of(table, words);
  const bool is_known = command != table.end();
  const Options none;
  Normalizer normalizer(is_known ? command->options : none);
  std::vector<std::string> rest = is_known ? normalizer(words) : words;
  if (settings != nullptr && is_known) {
    const std::string path = normalizer.value("--settings");
    const std::vector<std::string> more =
        normalizer(words_of(parse_settings(*settings, path), *command, normalizer, path));
    rest.insert(rest.end(), more.begin(), more.end());
  }
  std::reverse(rest.begin(), rest.end());  // CLI11 takes the last word first
  try {
    app.parse(rest);
  } catch (const CLI::CallForVersion& version) {
    arguments.text = fmt::format("{}\n", version.what());
    return arguments;
  } catch (const CLI::CallForHelp&) {
    if (!is_known && !arguments.predict.on && !words[0].starts_with('-'))
      refuse_command(table, words);
    arguments.text = app.help();
    return arguments;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  if (!is_known) refuse_command(table, words);
  for (std::size_t i = 0; i < table.size(); ++i) require_no_extras(*apps[i], table[i]);
  const CLI::App& read = *apps[static_cast<std::size_t>(command - table.begin())];
  take_operands(read, *command, normalizer.operands());
  if (command->command == Command::verify && arguments.submission.empty())
    throw UsageError(
        "FOLDER, the submission to check, is missing; allowed: speedwell verify FOLDER");
  const bool has_settings =
      command->command != Command::info && command->command != Command::verify;
  const bool is_whole = arguments.settings.empty() || settings != nullptr || arguments.predict.on;
  if (command->command == Command::print)
    arguments.text = text_of(table, *command, arguments.topic);
  else if (has_settings && is_whole)
    settle(*command, read, arguments, normalizer);
  else
    arguments.command = command->command;  // or it is settled with the file's options
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

}  // namespace speedwell
