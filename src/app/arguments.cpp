#include "app/arguments.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <lupine/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>

#include "app/option.hpp"
#include "revision.hpp"
#include "setup/setup.hpp"

namespace lupine {

namespace {

/// What HPL.dat gives too, of every benchmark.
Options shape_options(HplDat& dat, Count count) {
  return {
      numbers("-N,--n", "Order of the matrix (default: the largest that fits)", dat.n,
              std::int64_t{1}, largest_int64, count),
      numbers("--nb", "Block size, also -NB (default: by device and size)", dat.nb, std::int64_t{1},
              largest_int64, count),
      numbers("-P,--nprow", "Rows of the process grid (default: squarest grid)", dat.p, 1,
              largest_int, count),
      numbers("-Q,--npcol", "Columns of the process grid", dat.q, 1, largest_int, count),
      choice("--nporder", "Numbering of ranks over the grid (default row)", dat.order),
      numbers("--lookahead", "Panels factored ahead (default: by device and size)", dat.depth, 0,
              largest_lookahead, count),
      choices("--bcast", "Broadcast of panels (default 1ring-modified)", dat.broadcast, count),
  };
}

/// The same, of pivoted panels.
Options panel_options(HplDat& dat, Count count) {
  return {
      numbers("--nbmin", "With pivoting: columns at which a panel's recursion ends (default 16)",
              dat.nbmin, 1, largest_leaf, count),
      numbers("--ndiv", "With pivoting: parts that it divides a panel into (default 2)", dat.ndiv,
              2, largest_parts, count),
  };
}

Option precision_option(BenchmarkOptions& o) {
  return choice("--precision,--sloppy-type", "What the update reads (default auto; 2 is fp16)",
                o.precision, "auto, fp16, bf16, fp32");
}

/// Of HPL-MxP, but for the precision.
Options low_precision_options(BenchmarkOptions& o) {
  return {
      choice("--matrix", "Matrix to solve with (default scaled-diagonal)", o.matrix),
      real("--kappa", "fasi-higham: condition number (default 1000)", o.kappa, "a number above 1",
           [](double v) { return v > 1; }),
      real("--rho", "fasi-higham: alpha / beta (default 0.5)", o.rho, "a number above 0, at most 1",
           [](double v) { return v > 0 && v <= 1; }),
      choice("--pivot", "Exchange of rows (default none)", o.pivoting),
      choice("--refine", "Refinement of the solution (default auto)", o.refine),
      number("--max-iterations", "Corrections allowed (default 50)", o.max_iterations, 1,
             largest_int),
  };
}

Options place_options(BenchmarkOptions& o) {
  return {
      choice("--device", "Where to compute (default auto: GPUs if every rank sees one)", o.device),
      choice("--comm", "How panels travel between GPUs (default auto)", o.comm),
      ordinals("--gpus", "GPUs by node-local rank, in turn, such as 0,1 (default: all)", o.gpus),
      number("--reserve", "Multiprocessors that a GPU's updates leave to panels (default by work)",
             o.reserved, 0, largest_reserve),
      number("--threads", "Threads a rank (default: its share of the cores)", o.threads, 1,
             largest_threads),
      real("--memory-fraction",
           "Of the free memory, where -N is not given (default 0.8; GPUs 0.95)", o.memory_fraction,
           "a number above 0, at most 1", [](double v) { return v > 0 && v <= 1; }),
  };
}

Options machine_options(BenchmarkOptions& o) {
  Options all = {
      number("--seed", "Of the random matrix (default 1)", o.seed, std::uint64_t{0},
             largest_uint64),
      number("--chunk", "Columns that an update takes at a time (default: by device and size)",
             o.chunk, std::int64_t{1}, largest_int64),
      real("--time-target", "Seconds that a run (bench: both) may take, where -N is not given",
           o.time_target, "seconds, a number above 0", [](double v) { return v > 0; }),
  };
  append(all, place_options(o));
  return all;
}

Option profile_option(Arguments& arguments) {
  return file("--profile", "What 'lupine tune' found, or none (default: in the user's folder)",
              arguments.profile);
}

Options run_options(Arguments& arguments) {
  return {number("--repeat", "Runs (default 1)", arguments.repeat, 1, largest_int),
          file("--json", "Write the report as JSON too", arguments.json),
          file("--trace", "Write what every rank did when, as a Chrome trace (Perfetto opens it)",
               arguments.trace),
          profile_option(arguments)};
}

Options dat_option(Arguments& arguments) {
  return {file("-i,--dat",
               "HPL.dat to read (default: that of the current folder, if there is one and no "
               "option that it gives)",
               arguments.dat)};
}

Option benchmark_choice(std::vector<Benchmark>& target) {
  const std::string allowed = "mxp, hpl, both";
  return {"--benchmark", "NAME", "What to tune (default mxp): " + allowed, allowed,
          [&target, allowed](const std::string& text) {
            const auto one = parse<Benchmark>(text);
            if (!one && text != "both") reject("--benchmark", text, allowed);
            target = one ? std::vector{*one} : std::vector{Benchmark::mxp, Benchmark::hpl};
          }};
}

Options tune_options(Arguments& a) {
  BenchmarkOptions& o = a.options;
  Options all = {
      real("--budget", "Seconds that it may take, both benchmarks together (default 60)", a.budget,
           "seconds, a number above 0", [](double v) { return v > 0; }),
      benchmark_choice(a.tuned),
      number("-N,--n", "Order of the matrix (default: what fits the budget)", o.n, std::int64_t{1},
             largest_int64),
      number("-P,--nprow", "Rows of the process grid (default: squarest grid)", o.rows, 1,
             largest_int),
      number("-Q,--npcol", "Columns of the process grid", o.columns, 1, largest_int),
      choice("--nporder", "Numbering of ranks over the grid (default row)", o.order),
      choice("--precision,--sloppy-type", "What HPL-MxP's update reads (default auto)", o.precision,
             "auto, fp16, bf16, fp32"),
      choice("--pivot", "Exchange of rows in HPL-MxP (default none)", o.pivoting),
      file("--json", "Write the report as JSON too", a.json),
      file("--profile", "Where to write it, or none (default: in the user's folder)", a.profile),
  };
  append(all, place_options(o));
  return all;
}

Options mxp_options(Arguments& a) {
  Options all = dat_option(a);
  append(all, shape_options(a.choices, Count::several));
  all.push_back(precision_option(a.options));
  append(all, low_precision_options(a.options));
  append(all, panel_options(a.choices, Count::several));
  append(all, machine_options(a.options));
  append(all, run_options(a));
  return all;
}

Options hpl_options(Arguments& a) {
  Options all = dat_option(a);
  append(all, shape_options(a.choices, Count::several));
  append(all, panel_options(a.choices, Count::several));
  all.push_back(real("--threshold", "Of the scaled residual; 0 or less: not checked (default 16)",
                     a.choices.threshold, "a number", [](double) { return true; }));
  append(all, machine_options(a.options));
  append(all, run_options(a));
  return all;
}

Option hpl_nb_option(Arguments& a) {
  return number("--hpl-nb", "HPL's block size (default: by size)", a.hpl_nb, std::int64_t{1},
                largest_int64);
}

Options bench_options(Arguments& a) {
  Options all = shape_options(a.choices, Count::one);
  all.push_back(number("--hpl-n",
                       "Order of HPL's matrix (default: HPL-MxP's, or the largest that fits)",
                       a.hpl_n, std::int64_t{1}, largest_int64));
  all.push_back(hpl_nb_option(a));
  all.push_back(precision_option(a.options));
  append(all, low_precision_options(a.options));
  append(all, panel_options(a.choices, Count::one));
  append(all, machine_options(a.options));
  append(all, run_options(a));
  return all;
}

std::optional<Solver> read_solver(std::string_view word) {
  for (const auto& [solver, name] : solver_names)
    if (name == word) return solver;
  return std::nullopt;
}

/// What `lupine compare` has in its own way.
Options contest_options(Arguments& a) {
  const std::string several = "; or several, separated by commas";
  const std::string solvers = "mxp, hpl, dgesv, dsgesv";
  const std::string precisions = "fp16, bf16, fp32";
  return {
      numbers("-N,--n", "Orders of the matrix, one after the other (default 8192)", a.choices.n,
              std::int64_t{1}, largest_int64, Count::several),
      list("--contestants", "Who takes part (default all): " + solvers, solvers + several,
           a.compare.solvers, read_solver),
      list(
          "--precision,--sloppy-type", "What updates of HPL-MxP read (default bf16,fp16,fp32)",
          precisions + several, a.compare.precisions,
          [precisions](const std::string& word) { return read_name<Precision>(word, precisions); }),
      hpl_nb_option(a),
      number("--repeat", "Rounds, in each of which everybody runs once (default 3)", a.repeat, 1,
             largest_int),
      file("--json", "Write the report as JSON too", a.json),
      file("--plot", "Draw the rates against N, with their ceilings, as SVG (by gnuplot)", a.plot),
  };
}

Options compare_options(Arguments& a) {
  Options all = contest_options(a);
  Options shape = shape_options(a.choices, Count::one);
  shape.erase(shape.begin());  // several N: above
  append(all, std::move(shape));
  append(all, low_precision_options(a.options));
  append(all, panel_options(a.choices, Count::one));
  append(all, machine_options(a.options));
  all.push_back(profile_option(a));
  return all;
}

void add_options(CLI::App& app, const Options& options, Arguments& arguments) {
  for (const Option& option : options)
    app.add_option_function<std::string>(option.names, option.set, option.help)
        ->type_name(option.placeholder);
  app.add_flag_function(
      "--progress,!--no-progress", [&](std::int64_t count) { arguments.progress = count > 0; },
      "Lines on standard error while it runs (default: if that is a terminal)");
  app.footer(
      "Environment: OMP_NUM_THREADS, if set, stands for --threads, and LUPINE_PROFILE for "
      "--profile.\n"
      "OPENBLAS_CORETYPE, if not set, is set where OpenBLAS would pick kernels slower than the\n"
      "processor allows.\n"
      "Exit status: 0 passed, 1 failed, 2 not allowed, 3 a fault.");
}

void require_no_extras(const CLI::App& app, const std::string& command) {
  for (const std::string& word : app.remaining())
    throw UsageError(fmt::format("unknown {} '{}'; allowed are those of '{} --help'",
                                 word.rfind('-', 0) == 0 ? "option" : "argument", word, command));
}

/// What HPL.dat gives, as options.
constexpr std::array dat_options{"-N,--n",    "--nb",        "-P,--nprow", "-Q,--npcol",
                                 "--nporder", "--lookahead", "--bcast",    "--nbmin",
                                 "--ndiv",    "--threshold"};

void require_use(const Arguments& arguments, const Normalizer& normalizer) {
  const BenchmarkOptions& o = arguments.options;
  for (const char* names : {"--kappa", "--rho"})
    if (normalizer.given(names) && o.matrix != MatrixKind::fasi_higham)
      throw UsageError(fmt::format("{}: allowed only with --matrix fasi-higham", names));
  for (const char* names : {"--nbmin", "--ndiv"})
    if (normalizer.given(names) && arguments.command == Command::mxp &&
        o.pivoting == Pivoting::none)
      throw UsageError(fmt::format("{}: allowed only with --pivot partial", names));
  for (const char* names : dat_options)
    if (normalizer.given("-i,--dat") && normalizer.given(names))
      throw UsageError(fmt::format("{} and -i,--dat both say it; allowed: one of them", names));
}

/// An HPL.dat is taken unasked where nothing says what it would say.
bool says_nothing_of_dat(const Normalizer& normalizer) {
  const auto given = [&](const char* names) { return normalizer.given(names); };
  return !given("-i,--dat") && !given("--time-target") && !given("--memory-fraction") &&
         std::none_of(dat_options.begin(), dat_options.end(), given);
}

/// P and Q belong together; what one of them leaves open is open for each of the other.
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

/// A command that runs a benchmark.
struct BenchmarkCommand {
  const char* name;
  Command command;
  Options options;
  CLI::App* app;
};

std::vector<BenchmarkCommand> benchmark_commands(CLI::App& app, Arguments& arguments) {
  const auto sub = [&](const char* name, const char* help) {
    return app.add_subcommand(name, help)->allow_extras();
  };
  std::vector<BenchmarkCommand> all{
      {"mxp", Command::mxp, mxp_options(arguments), sub("mxp", "Run HPL-MxP on all ranks")},
      {"hpl", Command::hpl, hpl_options(arguments), sub("hpl", "Run HPL in FP64 on all ranks")},
      {"bench", Command::bench, bench_options(arguments),
       sub("bench", "Run both, and compare them")},
      {"compare", Command::compare, compare_options(arguments),
       sub("compare", "HPL-MxP, HPL and LAPACK on one matrix in turns, and what bounds them")},
      {"tune", Command::tune, tune_options(arguments),
       sub("tune", "Find block size, look-ahead and chunks for this machine")}};
  for (const BenchmarkCommand& one : all) add_options(*one.app, one.options, arguments);
  return all;
}

void settle(const BenchmarkCommand& command, Arguments& arguments, const Normalizer& normalizer) {
  arguments.command = command.command;
  if (command.command == Command::hpl) arguments.options.benchmark = Benchmark::hpl;
  require_use(arguments, normalizer);
  pair_grids(arguments.choices, normalizer);
  const bool has_dat = command.command == Command::mxp || command.command == Command::hpl;
  arguments.may_take_dat = has_dat && says_nothing_of_dat(normalizer);
  if (command.command != Command::compare) return;
  if (!normalizer.given("-N,--n")) arguments.choices.n = {8192};
  if (!normalizer.given("--repeat")) arguments.repeat = 3;
}

}  // namespace

HplDat open_choices() {
  HplDat dat;
  dat.n = dat.nb = {0};
  dat.p = dat.q = dat.nbmin = {0};
  dat.ndiv = {BenchmarkOptions{}.parts};
  dat.depth = {BenchmarkOptions{}.lookahead};
  dat.broadcast = {BenchmarkOptions{}.broadcast};
  dat.pfact = dat.rfact = {PanelFactor::right};
  return dat;
}

std::string text_of_choices(const Arguments& a) {
  const HplDat& c = a.choices;
  std::vector<std::string_view> broadcasts;
  for (const BroadcastMethod method : c.broadcast) broadcasts.push_back(name(method));
  std::vector<std::string_view> tuned;
  for (const Benchmark benchmark : a.tuned) tuned.push_back(name(benchmark));
  constexpr std::array commands{"", "mxp", "hpl", "bench", "compare", "tune", "info"};
  return fmt::format(
      "{} -i '{}' -N {} --nb {} -P {} -Q {} --nporder {} --lookahead {} --bcast {} --nbmin {} "
      "--ndiv {} --threshold {} --pivot {} --hpl-n {} --hpl-nb {} --repeat {} --budget {} "
      "--benchmark {} --profile '{}'{}",
      commands.at(static_cast<std::size_t>(a.command)), a.dat, fmt::join(c.n, ","),
      fmt::join(c.nb, ","), fmt::join(c.p, ","), fmt::join(c.q, ","), name(c.order),
      fmt::join(c.depth, ","), fmt::join(broadcasts, ","), fmt::join(c.nbmin, ","),
      fmt::join(c.ndiv, ","), c.threshold, name(a.options.pivoting), a.hpl_n, a.hpl_nb, a.repeat,
      a.budget, fmt::join(tuned, ","), a.profile, a.trace.empty() ? "" : " --trace FILE");
}

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  CLI::App app("Half-precision speed, double-precision answers for dense linear systems", "lupine");
  app.set_version_flag("--version", fmt::format("lupine {} ({})", LUPINE_VERSION, LUPINE_REVISION));
  app.allow_extras()->require_subcommand(0, 1);
  const std::vector<BenchmarkCommand> commands = benchmark_commands(app, arguments);
  CLI::App& info = *app.add_subcommand("info", "What Lupine finds on this node")->allow_extras();

  const auto command = std::find_if(
      commands.begin(), commands.end(),
      [&](const BenchmarkCommand& one) { return !words.empty() && words[0] == one.name; });
  const bool runs_benchmark = command != commands.end();
  const Options none;
  Normalizer normalizer(runs_benchmark ? command->name : "",
                        runs_benchmark ? command->options : none);
  std::vector<std::string> rest = runs_benchmark ? normalizer(words) : words;
  std::reverse(rest.begin(), rest.end());  // as CLI11 wants them
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
  for (const BenchmarkCommand& one : commands)
    require_no_extras(*one.app, fmt::format("lupine {}", one.name));
  require_no_extras(info, "lupine info");
  if (app.get_subcommands().empty())
    throw UsageError(
        fmt::format("{}; allowed: mxp, hpl, bench, compare, tune, info, --help, --version",
                    words.empty() ? "no command" : fmt::format("unknown command '{}'", words[0])));
  require_no_extras(app, "lupine");
  arguments.command = Command::info;
  if (runs_benchmark) settle(*command, arguments, normalizer);
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
