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

/// Whether a reader, or a program, may take the line for a score or a verdict.
bool is_claim(const std::string& line) {
  static const std::regex claims(
      R"([Ff][Ll][Oo][Pp](S|s|/s)? *=|PASSED|FAILED|HPL_pdgesv|[Ss]peedup|tests completed)"
      R"(|^ *W[RC][0-9]|^(N|NB|P|Q) *:)");
  return std::regex_search(line, claims);
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

/// The lines of the head that the record gives, without their reasons.
std::vector<std::string> head_lines(const BenchmarkOptions& o) {
  return {line("N", option_text(o.n)),
          line("NB", option_text(o.run.nb)),
          line("P", option_text(o.run.nprow)),
          line("Q", option_text(o.run.npcol)),
          line("PRECISION", option_text(o.precision)),
          line("MATRIX", matrix_text(o))};
}

/// What differs in the head, from the list of parameters on.
std::string differing_in_head(const std::vector<Line>& head, const BenchmarkOptions& options) {
  for (std::string wanted : head_lines(options)) {
    wanted.pop_back();  // the line break
    const std::string label = wanted.substr(0, wanted.find(':') + 1);
    const auto labelled = [&](const Line& one) { return one.text.starts_with(label); };
    if (std::ranges::count_if(head, labelled) != 1)
      return fmt::format("not one line '{}' at its head", wanted);
    const Line& found = *std::ranges::find_if(head, labelled);
    if (found.text != wanted && !found.text.starts_with(wanted + " "))
      return differs(found, wanted);
  }
  for (const Line& one : head)
    if (is_claim(one.text) && !std::regex_search(one.text, std::regex("^(N|NB|P|Q) +:")))
      return differs(one, "no score or verdict there");
  return "";
}

/// The notes of a head, which those of a run do not repeat.
std::vector<std::string> notes_of(const std::vector<Line>& head) {
  constexpr std::string_view mark = "- ";
  std::vector<std::string> notes;
  for (const Line& one : head)
    if (one.text.starts_with(mark)) notes.push_back(one.text.substr(mark.size()));
  return notes;
}

/// What differs in the lines after the head.
std::string differing_in_runs(std::span<const Line> found, const std::vector<Line>& wanted) {
  bool is_free = false;  // after the times of a run: memory and sensors
  auto next = wanted.begin();
  for (const Line& one : found) {
    if (next != wanted.end() && (one.text == next->text || same_time(one.text, next->text))) {
      is_free = one.text.starts_with("LU ");
      ++next;
    } else if (!is_free || is_claim(one.text)) {
      return differs(one, next == wanted.end() ? "nothing more" : next->text);
    }
  }
  return next == wanted.end() ? "" : fmt::format("no line '{}' in it", next->text);
}

}  // namespace

std::string differing_line(const std::string& text, const Measured& measured,
                           const std::string& rest) {
  const std::vector<Line> lines = lines_of(text);
  const auto parameters = std::ranges::find_if(
      lines, [](const Line& one) { return one.text.starts_with("The following parameter"); });
  const auto runs = std::find_if(parameters, lines.end(),
                                 [](const Line& one) { return one.text == double_rule; });
  const std::vector<Line> head(parameters, runs);
  if (const std::string why = differing_in_head(head, measured.setup.options); !why.empty())
    return why;
  for (auto one = lines.begin(); one != parameters; ++one)
    if (is_claim(one->text) && !std::regex_search(one->text, std::regex("^(N|NB) +:")))
      return differs(*one, "no score or verdict there");
  Setup setup = measured.setup;
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
