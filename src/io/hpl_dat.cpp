// SPDX-License-Identifier: BSD-3-Clause
#include "io/hpl_dat.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "core/expects.hpp"
#include "io/file.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

constexpr int last_dat_line = 31;

/// A range of whole numbers that a line may hold.
template <class T>
struct Range {
  T least;
  T most;

  std::optional<T> read(std::string_view word) const {
    const std::optional<T> value = number<T>(word);
    return value && *value >= least && *value <= most ? value : std::nullopt;
  }

  std::string text(std::int64_t count) const {
    const char* numbers = count == 1 ? "whole number" : "whole numbers";
    return most == std::numeric_limits<std::int64_t>::max()
               ? fmt::format("{} {} of at least {}", count, numbers, least)
               : fmt::format("{} {} from {} to {}", count, numbers, least, most);
  }
};

constexpr int most_int = std::numeric_limits<int>::max();
constexpr Range<std::int64_t> from_one{1, std::numeric_limits<std::int64_t>::max()};

/// Reads the text line by line. Its errors name the line.
class DatLines {
 public:
  DatLines(std::string_view text, std::string path) : rest_(text), path_(std::move(path)) {
    while (!rest_.empty() && (is_blank(rest_.back()) || rest_.back() == '\n'))
      rest_.remove_suffix(1);
  }

  /// Goes on to the next line. `allowed` describes its allowed content, for errors.
  void advance(std::string allowed) {
    allowed_ = std::move(allowed);
    ++at_;
    if (rest_.empty()) fail("the file ends before it");
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line_ = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
  }

  /// Whether nothing follows the line.
  bool at_end() const { return rest_.empty(); }

  /// The next word of the line; empty if there is none.
  std::string_view word() { return take_word(line_); }

  [[noreturn]] void refuse(std::string_view word) const {
    fail(fmt::format("'{}' is not allowed", printable(word)));
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(fmt::format("{} line {}: {}; allowed: {}", path_, at_, what, allowed_));
  }

 private:
  std::string_view rest_;
  std::string path_;
  std::string_view line_;
  std::string allowed_;
  int at_ = 0;
};

template <class T>
std::vector<T> list(DatLines& lines, std::int64_t count, const Range<T>& range,
                    const char* meaning) {
  lines.advance(fmt::format("{} ({})", range.text(count), meaning));
  std::vector<T> values;
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string_view word = lines.word();
    if (word.empty()) lines.fail(fmt::format("the line ends after {} of {} values", i, count));
    const std::optional<T> value = range.read(word);
    if (!value) lines.refuse(word);
    values.push_back(*value);
  }
  return values;
}

template <class T>
T one(DatLines& lines, const Range<T>& range, const char* meaning) {
  return list(lines, 1, range, meaning).front();
}

/// The values of a list: a line with their number, and a line with the values.
template <class T>
std::vector<T> counted(DatLines& lines, const Range<T>& range, const char* how_many,
                       const char* meaning) {
  const std::int64_t count = one(lines, from_one, how_many);
  return list(lines, count, range, meaning);
}

/// The choices for which HPL's digits stand: digit 0 is the first of `choices`. As in HPL, any
/// other digit is `otherwise`.
template <class T, std::size_t size>
std::vector<T> chosen(const std::vector<int>& digits, const std::array<T, size>& choices,
                      T otherwise) {
  std::vector<T> values;
  values.reserve(digits.size());
  for (const int digit : digits)
    values.push_back(digit >= 0 && digit < static_cast<int>(size)
                         ? choices.at(static_cast<std::size_t>(digit))
                         : otherwise);
  return values;
}

constexpr Range<int> any_int{std::numeric_limits<int>::min(), most_int};

constexpr std::array panel_factors{PanelFactor::left, PanelFactor::crout, PanelFactor::right};
constexpr std::array row_swaps{RowSwap::binary_exchange, RowSwap::spread_roll, RowSwap::mixed};
constexpr std::array broadcasts{BroadcastMethod::ring,        BroadcastMethod::ring_modified,
                                BroadcastMethod::two_ring,    BroadcastMethod::two_ring_modified,
                                BroadcastMethod::spread_roll, BroadcastMethod::spread_roll_modified,
                                BroadcastMethod::ibcast};

int device_out(DatLines& lines) {
  lines.advance("6 (stdout), 7 (stderr), or another whole number or the word file (device out)");
  const std::string_view word = lines.word();
  if (word.empty()) lines.fail("the line is empty");
  if (word == "file") return 0;
  const std::optional<int> device = number<int>(word);
  if (!device) lines.refuse(word);
  return *device;
}

void read_output(DatLines& lines, HplDat& dat) {
  lines.advance("anything (title)");
  lines.advance("anything (title)");
  lines.advance("a file name (output file)");
  const DatLines named = lines;
  dat.output_file = lines.word();
  dat.device_out = device_out(lines);
  if (dat.output_file.empty() && dat.device_out != 6 && dat.device_out != 7)
    named.fail("it is empty, and line 4 sends the output to a file");
}

void read_problem(DatLines& lines, HplDat& dat) {
  dat.n = counted(lines, from_one, "number of problem sizes N", "Ns");
  dat.nb = counted(lines, from_one, "number of block sizes NB", "NBs");
  const int order = one(lines, Range<int>{0, 1}, "PMAP: 0 row, 1 column");
  dat.order = order == 0 ? GridOrder::row : GridOrder::column;
  const std::int64_t grids = one(lines, from_one, "number of process grids");
  dat.p = list(lines, grids, Range<int>{1, most_int}, "Ps");
  dat.q = list(lines, grids, Range<int>{1, most_int}, "Qs");
}

// As in HPL any number is allowed; with 0 or less every run passes without a check.
void read_threshold(DatLines& lines, HplDat& dat) {
  lines.advance("1 finite number (threshold of the residual)");
  const std::string_view word = lines.word();
  if (word.empty()) lines.fail("the line is empty");
  const std::optional<double> value = number<double>(word);
  if (!value || !std::isfinite(*value)) lines.refuse(word);
  dat.threshold = *value;
}

void read_algorithm(DatLines& lines, HplDat& dat) {
  const auto factors = [&](const char* how_many, const char* meaning) {
    return chosen(counted(lines, any_int, how_many, meaning), panel_factors, PanelFactor::right);
  };
  dat.pfact = factors("number of PFACTs", "PFACTs: 0 left, 1 Crout, 2 right");
  dat.nbmin = counted(lines, Range<int>{1, most_int}, "number of NBMINs", "NBMINs");
  dat.ndiv = counted(lines, Range<int>{2, most_int}, "number of NDIVs", "NDIVs");
  dat.rfact = factors("number of RFACTs", "RFACTs: 0 left, 1 Crout, 2 right");
  dat.broadcast = chosen(
      counted(lines, Range<int>{0, static_cast<int>(broadcasts.size()) - 1}, "number of BCASTs",
              "BCASTs: 0 1ring, 1 1ring-modified, 2 2ring, 3 2ring-modified, "
              "4 long, 5 long-modified, 6 ibcast"),
      broadcasts, BroadcastMethod::ring_modified);
  dat.depth = counted(lines, Range<int>{0, most_int}, "number of DEPTHs", "DEPTHs");
}

// These lines have no effect here. HPL accepts any number in them, and replaces those without a
// meaning by its own. It reads no further than a file goes, and many files lack the last lines.
void read_storage(DatLines& lines, HplDat& dat) {
  const auto next = [&](auto& target, const char* meaning, const auto& choice) {
    if (!lines.at_end()) target = choice(one(lines, any_int, meaning));
  };
  const auto as_it_is = [](int value) { return value; };
  next(dat.swap, "SWAP: 0 binary exchange, 1 long, 2 mix",
       [](int value) { return chosen({value}, row_swaps, RowSwap::spread_roll).front(); });
  next(dat.swap_threshold, "swapping threshold", as_it_is);
  next(dat.l1_transposed, "L1: 0 transposed, 1 not", [](int value) { return value != 1; });
  next(dat.u_transposed, "U: 0 transposed, 1 not", [](int value) { return value != 1; });
  next(dat.equilibration, "equilibration: 0 no, 1 yes", [](int value) { return value != 0; });
  next(dat.alignment, "memory alignment", as_it_is);
}

constexpr std::array all_choices{
    HplChoice::pfact, HplChoice::rfact, HplChoice::swap,          HplChoice::swap_threshold,
    HplChoice::l1,    HplChoice::u,     HplChoice::equilibration, HplChoice::alignment,
    HplChoice::nbmin, HplChoice::ndiv};

const char* lines_of(HplChoice choice) {
  switch (choice) {
    case HplChoice::pfact:
      return "14-15 (PFACT)";
    case HplChoice::nbmin:
      return "16-17 (NBMIN)";
    case HplChoice::ndiv:
      return "18-19 (NDIV)";
    case HplChoice::rfact:
      return "20-21 (RFACT)";
    case HplChoice::swap:
      return "26 (SWAP)";
    case HplChoice::swap_threshold:
      return "27 (swapping threshold)";
    case HplChoice::l1:
      return "28 (L1)";
    case HplChoice::u:
      return "29 (U)";
    case HplChoice::equilibration:
      return "30 (equilibration)";
    case HplChoice::alignment:
      return "31 (memory alignment)";
  }
  return "?";
}

bool contains(std::span<const HplChoice> choices, HplChoice choice) {
  return std::find(choices.begin(), choices.end(), choice) != choices.end();
}

HplDat with_one_value(HplDat dat, std::span<const HplChoice> ignored) {
  if (contains(ignored, HplChoice::pfact)) dat.pfact.resize(1);
  if (contains(ignored, HplChoice::nbmin)) dat.nbmin.resize(1);
  if (contains(ignored, HplChoice::ndiv)) dat.ndiv.resize(1);
  if (contains(ignored, HplChoice::rfact)) dat.rfact.resize(1);
  return dat;
}

void check_number_of_runs(const HplDat& dat) {
  constexpr double most = 1e6;
  double all = 1;
  for (const std::size_t count :
       {dat.p.size(), dat.n.size(), dat.nb.size(), dat.depth.size(), dat.broadcast.size(),
        dat.rfact.size(), dat.pfact.size(), dat.nbmin.size(), dat.ndiv.size()})
    all *= static_cast<double>(count);
  if (all > most)
    throw UsageError(fmt::format("{} make {:.3g} runs; allowed: at most 1000000",
                                 dat.path.empty() ? "the lists" : dat.path + ": its lists", all));
}

/// Each run of `outer` combined with each value of the list. The values vary fastest.
template <class T, class Set>
std::vector<HplRun> times(const std::vector<HplRun>& outer, const std::vector<T>& values, Set set) {
  std::vector<HplRun> all;
  for (HplRun run : outer)
    for (const T& value : values) {
      set(run, value);
      all.push_back(run);
    }
  return all;
}

std::vector<HplRun> grids(const HplDat& dat) {
  std::vector<HplRun> all;
  for (std::size_t i = 0; i < dat.p.size(); ++i)
    all.push_back({.order = dat.order, .p = dat.p[i], .q = dat.q[i]});
  return all;
}

}  // namespace

HplDat parse_hpl_dat(std::string_view text, const std::string& path) {
  HplDat dat;
  dat.path = path;
  // Lines that were copied from a web page may have U+00A0 in the place of blanks.
  constexpr std::string_view no_break_space = "\xc2\xa0";
  std::string blank_text(text);
  for (std::size_t at = 0; (at = blank_text.find(no_break_space, at)) != blank_text.npos;)
    blank_text.replace(at, no_break_space.size(), no_break_space.size(), ' ');
  DatLines lines(blank_text, path);
  read_output(lines, dat);
  read_problem(lines, dat);
  read_threshold(lines, dat);
  read_algorithm(lines, dat);
  read_storage(lines, dat);
  return dat;
}

std::string text_of_dat(const HplDat& dat) {
  std::string text = "HPL.dat of a run of Speedwell\n\n";
  const auto line = [&](const std::string& value, const char* meaning) {
    text += fmt::format("{:<12} {}\n", value, meaning);
  };
  const auto numbers = [](const auto& values) {
    std::vector<std::int64_t> all;
    for (const auto& value : values) all.push_back(static_cast<std::int64_t>(value));
    return fmt::format("{}", fmt::join(all, " "));
  };
  const auto list = [&](const auto& values, const char* meaning) {
    SPEEDWELL_EXPECTS(!values.empty() && values.size() <= 20);
    line(std::to_string(values.size()), "values of the next line");
    line(numbers(values), meaning);
  };
  line(dat.output_file.empty() ? "HPL.out" : dat.output_file, "output file");
  line(std::to_string(dat.device_out),
       "device out: 6 standard output, 7 standard error, else the file");
  list(dat.n, "N: orders");
  list(dat.nb, "NB: block sizes");
  line(dat.order == GridOrder::row ? "0" : "1", "PMAP: 0 row, 1 column");
  line(std::to_string(dat.p.size()), "process grids");
  line(numbers(dat.p), "P");
  line(numbers(dat.q), "Q");
  line(fmt::format("{}", dat.threshold), "threshold");
  list(dat.pfact, "PFACT: 0 left, 1 Crout, 2 right");
  list(dat.nbmin, "NBMIN");
  list(dat.ndiv, "NDIV");
  list(dat.rfact, "RFACT: 0 left, 1 Crout, 2 right");
  std::vector<std::int64_t> methods;
  for (const BroadcastMethod method : dat.broadcast)
    methods.push_back(std::ranges::find(broadcasts, method) - broadcasts.begin());
  list(methods,
       "BCAST: 0 1rg, 1 1rM, 2 2rg, 3 2rM, 4 Lng, 5 LnM; 6 MPI_Ibcast, of Speedwell alone");
  list(dat.depth, "DEPTH");
  line(numbers(std::array{dat.swap}), "SWAP: 0 bin-exch, 1 long, 2 mix");
  line(std::to_string(dat.swap_threshold), "swapping threshold");
  line(dat.l1_transposed ? "0" : "1", "L1: 0 transposed, 1 not");
  line(dat.u_transposed ? "0" : "1", "U: 0 transposed, 1 not");
  line(dat.equilibration ? "1" : "0", "equilibration: 0 no, 1 yes");
  line(std::to_string(dat.alignment), "memory alignment in doubles");
  return text;
}

std::string hpl_dat_text(const std::string& path) {
  const FileText file = read_file(path);
  if (!file.problem.empty())
    throw UsageError(fmt::format("cannot read '{}' ({}); allowed: an HPL.dat of {} lines",
                                 printable(path, longest_path), file.problem, last_dat_line));
  return file.text;
}

std::span<const HplChoice> hpl_ignores() {
  return std::span(all_choices).first(all_choices.size() - 2);
}
std::span<const HplChoice> mxp_ignores() {
  return all_choices;
}

std::string ignored_lines(const HplDat& dat, std::span<const HplChoice> ignored) {
  std::vector<HplChoice> sorted(ignored.begin(), ignored.end());
  std::sort(sorted.begin(), sorted.end());
  std::string text;
  for (const HplChoice choice : sorted)
    text.append(text.empty() ? "" : ", ").append(lines_of(choice));
  return text.empty() ? text
                      : fmt::format("lines of {} without a meaning here: {}", dat.path, text);
}

std::vector<HplRun> runs(const HplDat& dat, std::span<const HplChoice> ignored) {
  const HplDat used = with_one_value(dat, ignored);
  check_number_of_runs(used);
  std::vector<HplRun> all = grids(used);
  all = times(all, used.n, [](HplRun& r, std::int64_t v) { r.n = v; });
  all = times(all, used.nb, [](HplRun& r, std::int64_t v) { r.nb = v; });
  all = times(all, used.depth, [](HplRun& r, int v) { r.depth = v; });
  all = times(all, used.broadcast, [](HplRun& r, BroadcastMethod v) { r.broadcast = v; });
  all = times(all, used.rfact, [](HplRun& r, PanelFactor v) { r.rfact = v; });
  all = times(all, used.pfact, [](HplRun& r, PanelFactor v) { r.pfact = v; });
  all = times(all, used.nbmin, [](HplRun& r, int v) { r.nbmin = v; });
  all = times(all, used.ndiv, [](HplRun& r, int v) { r.ndiv = v; });
  return all;
}

HplDat choices_of(const BenchmarkOptions& options) {
  HplDat dat;
  dat.n = {options.n};
  dat.nb = {options.run.nb};
  dat.order = options.run.order;
  dat.p = {options.run.nprow};
  dat.q = {options.run.npcol};
  dat.threshold = options.threshold;
  dat.nbmin = {options.leaf};
  dat.ndiv = {options.ndiv};
  dat.depth = {options.run.lookahead};
  dat.broadcast = {options.run.broadcast};
  dat.pfact = dat.rfact = {PanelFactor::right};
  return dat;
}

void pair_grids(HplDat& dat) {
  const std::vector<int> open{0};
  if (dat.p == open) dat.p.assign(dat.q.size(), 0);
  if (dat.q == open) dat.q.assign(dat.p.size(), 0);
  if (dat.p.size() != dat.q.size())
    throw UsageError(
        fmt::format("-P,--nprow has {} values and -Q,--npcol {}; allowed: as many of one as of the "
                    "other, for they make pairs",
                    dat.p.size(), dat.q.size()));
}

}  // namespace speedwell
