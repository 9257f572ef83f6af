#include "app/arguments.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "bench/setup.hpp"
#include "revision.hpp"

namespace lupine {

namespace {

constexpr auto largest_int = std::numeric_limits<int>::max();
constexpr auto largest_int64 = std::numeric_limits<std::int64_t>::max();
constexpr auto largest_uint64 = std::numeric_limits<std::uint64_t>::max();

[[noreturn]] void reject(const std::string& option, std::string_view value,
                         const std::string& allowed) {
  throw UsageError(fmt::format("{}: '{}' is not allowed; allowed: {}", option, value, allowed));
}

/// Reads all of `text`, or nothing.
template <class Number>
std::optional<Number> read(std::string_view text) {
  Number value{};
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

/// One option that takes a value.
struct Option {
  std::string names;        ///< as CLI11 takes them: "-N,--n"
  std::string placeholder;  ///< "NUMBER"
  std::string help;
  std::string allowed;
  std::function<void(const std::string& value)> set;
};

template <class Number>
Option number(std::string names, std::string help, Number& target, Number from, Number to) {
  const std::string range = fmt::format("a whole number from {} to {}", from, to);
  Option option{std::move(names), "NUMBER", std::move(help), range, {}};
  option.set = [=, &target, name = option.names](const std::string& text) {
    const auto value = read<Number>(text);
    if (!value || *value < from || *value > to) reject(name, text, range);
    target = *value;
  };
  return option;
}

Option real(std::string names, std::string help, double& target, std::string range,
            const std::function<bool(double)>& allowed) {
  Option option{std::move(names), "NUMBER", std::move(help), std::move(range), {}};
  option.set = [=, &target, name = option.names, range = option.allowed](const std::string& text) {
    const auto value = read<double>(text);
    if (!value || !std::isfinite(*value) || !allowed(*value)) reject(name, text, range);
    target = *value;
  };
  return option;
}

template <class Enum>
Option choice(std::string names, std::string help, Enum& target) {
  Option option{std::move(names),
                "NAME",
                std::move(help) + ": " + allowed_names<Enum>(),
                allowed_names<Enum>(),
                {}};
  option.set = [&target, name = option.names](const std::string& text) {
    const auto value = parse<Enum>(text);
    if (!value) reject(name, text, allowed_names<Enum>());
    target = *value;
  };
  return option;
}

Option ordinals(std::string names, std::string help, std::vector<int>& target) {
  Option option{
      std::move(names), "LIST", std::move(help), "numbers from 0, separated by commas", {}};
  option.set = [&target, name = option.names, range = option.allowed](const std::string& text) {
    target.clear();
    // A comma behind the last one too, so that what follows a last comma is an (empty) word.
    for (const std::string& word : CLI::detail::split(text + ",", ',')) {
      const auto value = read<int>(word);
      if (!value || *value < 0) reject(name, text, range);
      target.push_back(*value);
    }
  };
  return option;
}

Option file(std::string names, std::string help, std::string& target) {
  return {std::move(names), "FILE", std::move(help), "a file name",
          [&target](const std::string& text) { target = text; }};
}

std::vector<Option> problem_options(BenchmarkOptions& o) {
  return {
      number("-N,--n", "Order of the matrix (default: the largest that fits)", o.n, std::int64_t{1},
             largest_int64),
      number("--nb", "Block size, also -NB (default: by size and precision)", o.nb, std::int64_t{1},
             largest_int64),
      number("-P,--nprow", "Rows of the process grid (default: squarest grid)", o.rows, 1,
             largest_int),
      number("-Q,--npcol", "Columns of the process grid", o.columns, 1, largest_int),
      choice("--nporder", "Numbering of ranks over the grid (default row)", o.order),
      choice("--precision,--sloppy-type", "What the update reads (default auto; 2 is fp16)",
             o.precision),
      choice("--matrix", "Matrix to solve with (default scaled-diagonal)", o.matrix),
      real("--kappa", "fasi-higham: condition number (default 1000)", o.kappa, "a number above 1",
           [](double v) { return v > 1; }),
      real("--rho", "fasi-higham: alpha / beta (default 0.5)", o.rho, "a number above 0, at most 1",
           [](double v) { return v > 0 && v <= 1; }),
      number("--seed", "Of the random matrix (default 1)", o.seed, std::uint64_t{0},
             largest_uint64),
  };
}

std::vector<Option> method_options(BenchmarkOptions& o) {
  return {
      choice("--refine", "Refinement of the solution (default auto)", o.refine),
      number("--max-iterations", "Corrections allowed (default 50)", o.max_iterations, 1,
             largest_int),
      number("--lookahead", "Panels factored ahead (default 1)", o.lookahead, 0, largest_lookahead),
      choice("--bcast", "Broadcast of panels (default 1ring-modified)", o.broadcast),
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
      real("--time-target", "Seconds that a run may take, where -N is not given", o.time_target,
           "seconds, a number above 0", [](double v) { return v > 0; }),
  };
}

std::vector<Option> mxp_options(Arguments& arguments) {
  std::vector<Option> all = problem_options(arguments.mxp);
  for (Option& option : method_options(arguments.mxp)) all.push_back(std::move(option));
  all.push_back(number("--repeat", "Runs (default 1)", arguments.repeat, 1, largest_int));
  all.push_back(file("--json", "Write the report as JSON too", arguments.json));
  return all;
}

/// HPL's single dash for two letters, and values that touch their option: "-NB", "-N4096",
/// "-P=2" become "--nb", "--n=4096", "--nprow=2".
std::string long_form(const std::string& word) {
  constexpr std::pair<std::string_view, std::string_view> forms[]{
      {"-NB", "--nb"}, {"-N", "--n"}, {"-P", "--nprow"}, {"-Q", "--npcol"}};
  for (const auto& [from, to] : forms) {
    if (word.rfind(from, 0) != 0) continue;
    const std::string rest = word.substr(from.size());
    if (rest.empty()) return std::string(to);
    return fmt::format("{}={}", to, rest[0] == '=' ? rest.substr(1) : rest);
  }
  return word;
}

/// Brings every option to "--name=value" so that a value that begins with a dash, or is empty, or
/// missing, is judged as a value, and checks that none is repeated.
class Normalizer {
 public:
  explicit Normalizer(const std::vector<Option>& options) {
    for (const Option& option : options)
      for (const std::string& name : CLI::detail::split(option.names, ',')) known_[name] = &option;
  }

  std::vector<std::string> operator()(const std::vector<std::string>& words) {
    std::vector<std::string> result;
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::string word = long_form(words[i]);
      const std::string name = word.substr(0, word.find('='));
      const auto found = known_.find(name);
      if (found == known_.end()) {
        check_flag(word);
      } else {
        const Option& option = *found->second;
        if (word == name) word += "=" + next_value(option, words, ++i);
        if (word.size() == name.size() + 1) reject(option.names, "", option.allowed);
        require_first(option.names);
      }
      result.push_back(word);
    }
    return result;
  }

  bool given(const std::string& names) const { return seen_.count(names) > 0; }

 private:
  std::string next_value(const Option& option, const std::vector<std::string>& words,
                         std::size_t i) const {
    const bool is_option =
        i < words.size() && words[i].size() > 1 && words[i][0] == '-' &&
        (words[i][1] == '-' || known_.count(long_form(words[i]).substr(0, words[i].find('='))) > 0);
    if (i >= words.size() || is_option)
      throw UsageError(
          fmt::format("{}: the value is missing; allowed: {}", option.names, option.allowed));
    return words[i];
  }
  void check_flag(const std::string& word) {
    if (word == "--")
      throw UsageError("unknown argument '--'; allowed are those of 'lupine mxp --help'");
    const std::string name = word.substr(0, word.find('='));
    if (name != "--progress" && name != "--no-progress") return;
    if (word != name) throw UsageError(fmt::format("{}: takes no value; allowed: {}", word, name));
    require_first("--progress/--no-progress");
  }
  void require_first(const std::string& names) {
    if (!seen_.insert(names).second)
      throw UsageError(fmt::format("{}: given more than once; allowed: once", names));
  }

  std::map<std::string, const Option*> known_;
  std::set<std::string> seen_;
};

void add_options(CLI::App& app, const std::vector<Option>& options, Arguments& arguments) {
  for (const Option& option : options)
    app.add_option_function<std::string>(option.names, option.set, option.help)
        ->type_name(option.placeholder);
  app.add_flag_function(
      "--progress,!--no-progress", [&](std::int64_t count) { arguments.progress = count > 0; },
      "Lines on standard error while it runs (default: if that is a terminal)");
  app.footer(
      "Environment: OMP_NUM_THREADS, if set, stands for --threads. OPENBLAS_CORETYPE, if not set,\n"
      "is set where OpenBLAS would pick kernels slower than the processor allows.\n"
      "Exit status: 0 passed, 1 failed, 2 not allowed, 3 a fault.");
}

void require_no_extras(const CLI::App& app, const std::string& command) {
  for (const std::string& word : app.remaining())
    throw UsageError(fmt::format("unknown {} '{}'; allowed are those of '{} --help'",
                                 word.rfind('-', 0) == 0 ? "option" : "argument", word, command));
}

void require_use(const Arguments& arguments, const Normalizer& normalizer) {
  for (const char* names : {"--kappa", "--rho"})
    if (normalizer.given(names) && arguments.mxp.matrix != MatrixKind::fasi_higham)
      throw UsageError(fmt::format("{}: allowed only with --matrix fasi-higham", names));
}

}  // namespace

Arguments parse_arguments(const std::vector<std::string>& words) {
  Arguments arguments;
  CLI::App app("Half-precision speed, double-precision answers for dense linear systems", "lupine");
  app.set_version_flag("--version", fmt::format("lupine {} ({})", LUPINE_VERSION, LUPINE_REVISION));
  app.allow_extras()->require_subcommand(0, 1);
  CLI::App& mxp = *app.add_subcommand("mxp", "Run HPL-MxP on all ranks")->allow_extras();
  CLI::App& info = *app.add_subcommand("info", "What Lupine finds on this node")->allow_extras();
  const std::vector<Option> options = mxp_options(arguments);
  add_options(mxp, options, arguments);

  Normalizer normalizer(options);
  std::vector<std::string> rest = words;
  if (!words.empty() && words[0] == "mxp") rest = normalizer(words);
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
  require_no_extras(mxp, "lupine mxp");
  require_no_extras(info, "lupine info");
  if (app.get_subcommands().empty())
    throw UsageError(
        fmt::format("{}; allowed: mxp, info, --help, --version",
                    words.empty() ? "no command" : fmt::format("unknown command '{}'", words[0])));
  require_no_extras(app, "lupine");
  arguments.command = mxp.parsed() ? Command::mxp : Command::info;
  require_use(arguments, normalizer);
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
