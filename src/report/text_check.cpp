// SPDX-License-Identifier: BSD-3-Clause
#include "report/text_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <regex>
#include <span>
#include <sstream>
#include <string_view>
#include <vector>

#include "core/option_text.hpp"
#include "document/benchmark_report.hpp"
#include "document/report_parts.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

struct Line {
  int number = 0;  ///< from 1
  std::string text;
};

/// The lines that are not empty.
std::vector<Line> lines_of(const std::string& text) {
  std::vector<Line> all;
  std::istringstream stream(text);
  int number = 0;
  for (std::string one; std::getline(stream, one);)
    if (++number; !one.empty()) all.push_back({number, one});
  return all;
}

std::string differs(const Line& line, const std::string& wanted) {
  constexpr std::size_t longest = 120;
  return fmt::format("line {} is '{}', but the record gives '{}'", line.number,
                     printable(line.text, longest), printable(wanted, longest));
}

/// Whether a reader, or a program, may take free words for a score or a verdict.
bool is_claim(const std::string& words) {
  static const std::regex claims(
      R"([0-9.] *[kmgtpe]?flops?|flops?(/s)? *[=:]|passed|failed|HPL_pdgesv|speedup|tests completed)"
      R"(|^ *W[RC][0-9]|^(N|NB|P|Q) *:)",
      std::regex::ECMAScript | std::regex::icase);
  static const std::regex measured(R"( of [0-9]+ GFLOP/s measured$)");  // why n was chosen
  return std::regex_search(std::regex_replace(words, measured, ""), claims);
}

/// The time of a line of HPL, as if it were in UTC. False where there is none.
bool read_local(const std::string& line, std::string_view label, std::time_t& time) {
  std::tm parts{};
  if (!line.starts_with(label)) return false;
  const char* end = ::strptime(line.c_str() + label.size(), " %a %b %d %H:%M:%S %Y", &parts);
  if (end == nullptr || *end != '\0') return false;
  time = ::timegm(&parts);
  return true;
}

/// Whether both lines are about the same time, in whatever zones.
bool same_time(const std::string& line, const std::string& wanted) {
  constexpr std::time_t quarter = 15 * 60;
  constexpr std::time_t widest = 26 * 60 * 60;  // from UTC-12 to UTC+14
  for (const std::string_view label : {"HPL_pdgesv() start time", "HPL_pdgesv() end time"}) {
    std::time_t then = 0;
    std::time_t now = 0;
    if (read_local(line, label, then) && read_local(wanted, label, now))
      return (then - now) % quarter == 0 && std::abs(then - now) <= widest;
  }
  return false;
}

/// The notes of a head, without the dash before each.
std::vector<std::string> notes_of(std::span<const Line> head) {
  constexpr std::string_view mark = "- ";
  std::vector<std::string> notes;
  auto one = std::ranges::find(head, "Notes:", &Line::text);
  for (; one != head.end() && one->text != rule; ++one)
    if (one->text.starts_with(mark)) notes.push_back(one->text.substr(mark.size()));
  return notes;
}

/// The most threads of a rank by the head; the record has the fewest.
int most_threads(std::span<const Line> head, int fewest) {
  const std::string begin = line("THREADS", fmt::format("{} to ", fewest));
  const std::string_view label(begin.data(), begin.size() - 1);  // without the line break
  for (const Line& one : head)
    if (one.text.starts_with(label)) {
      std::string_view rest = std::string_view(one.text).substr(label.size());
      return std::max(fewest, number<int>(take_word(rest)).value_or(fewest));
    }
  return fewest;
}

/// Whether the line is the one of the record and says why its value was chosen, which the record
/// has of some values only.
bool is_with_reason(const std::string& found, const std::string& wanted) {
  constexpr std::string_view chosen = " chosen: ";
  const std::size_t colon = wanted.find(" : ");
  const std::size_t begin = found.find(chosen);
  if (colon == wanted.npos || begin == found.npos) return false;
  const std::string reason = found.substr(begin + chosen.size());
  return !is_claim(reason) &&
         found + "\n" == line(wanted.substr(0, colon), wanted.substr(colon + 3), reason);
}

/// What differs in the head.
std::string differing_in_head(std::span<const Line> head, Setup setup, const std::string& program) {
  const std::vector<std::string> notes = notes_of(head);
  if (const auto claim = std::ranges::find_if(notes, is_claim); claim != notes.end())
    return fmt::format("a note is '{}', but no score or verdict may be there",
                       printable(*claim, 120));
  setup.machine.most_threads = most_threads(head, setup.options.run.threads);
  std::string made = report_head({setup}, notes);
  const std::size_t begin = made.find('\n') + 1;
  made.replace(begin, made.find("  --  ") - begin, program);
  const std::vector<Line> wanted = lines_of(made);
  for (std::size_t i = 0; i < std::max(head.size(), wanted.size()); ++i) {
    if (i >= wanted.size()) return differs(head[i], "nothing more there");
    if (i >= head.size()) return fmt::format("no line '{}' in it", wanted[i].text);
    if (head[i].text != wanted[i].text && !is_with_reason(head[i].text, wanted[i].text))
      return differs(head[i], wanted[i].text);
  }
  return "";
}

/// What differs in the lines after the head.
std::string differing_in_runs(std::span<const Line> found, const std::vector<Line>& wanted) {
  auto next = wanted.begin();
  for (const Line& one : found) {
    if (next == wanted.end()) return differs(one, "nothing more");
    if (one.text != next->text && !same_time(one.text, next->text)) return differs(one, next->text);
    ++next;
  }
  return next == wanted.end() ? "" : fmt::format("no line '{}' in it", next->text);
}

}  // namespace

std::string differing_line(const std::string& text, const Measured& measured,
                           const std::string& program, const std::string& rest) {
  const std::vector<Line> lines = lines_of(text);
  const auto parameters = std::ranges::find_if(
      lines, [](const Line& one) { return one.text.starts_with("The following parameter"); });
  const auto runs = std::find_if(parameters, lines.end(),
                                 [](const Line& one) { return one.text == double_rule; });
  Setup setup = measured.setup;
  const std::span<const Line> head(lines.begin(), runs);
  if (const std::string why = differing_in_head(head, setup, program); !why.empty()) return why;
  setup.notes = notes_of(head);
  RunCounts counts;
  std::string wanted;
  for (const BenchmarkRun& run : measured.runs) {
    ++(run.result.passed ? counts.passed : counts.failed);
    wanted += report_run(setup, run);
  }
  wanted += report_tail(counts, setup.options.threshold > 0) + rest;
  return differing_in_runs({runs, lines.end()}, lines_of(wanted));
}

}  // namespace speedwell
