// SPDX-License-Identifier: BSD-3-Clause
#include "report/level_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr const char* level_row_format =
    "{:<5} {:<5} {:>5} {:>8} {:>9} {:>9} {:>9} {:>9} {:>6} {:>5} {:>5}  {:>8} {:>8} {:>6}\n";

std::string cell(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string error_text(double error) {
  return std::isnan(error) ? "-" : std::isinf(error) ? "inf" : fmt::format("{:.1e}", error);
}

std::string level_row(const ComparedSolver& one, const Comparison& all) {
  const LevelTraits& level = traits(*one.level);
  const bool ran = one.skipped.empty() && !one.turns.empty();
  const Turn turn = ran ? fastest_turn(one) : Turn{};
  const LevelResult result = turn.level.value_or(LevelResult{});
  const bool measured = ran && one.passed();
  const double seconds = measured ? turn.seconds : unknown;
  const Sensed<> joules =
      measured && turn.sensors ? total_joules(turn.sensors->energy.sum) : Sensed<>::none("");
  const double energy = joules.value().value_or(unknown);
  const double warmest =
      turn.sensors ? highest_sample(turn.sensors->monitors, Quantity::temperature) : unknown;
  return fmt::format(
      fmt::runtime(level_row_format), level.name, name(one.precision), one.nb,
      fmt::format("{} x {}", one.ranks, one.threads), cell(seconds, "{:.4g}"),
      cell(benchmark_flops(all.n) / seconds / 1e9, "{:.1f}"), cell(one.lu_bytes / 0x1p30, "{:.4g}"),
      cell(energy, "{:.4g}"), cell(energy / seconds, "{:.0f}"), cell(warmest, "{:.0f}"),
      measured ? fmt::to_string(result.corrections) : "-", error_text(result.first_error),
      error_text(result.error), cell(measured ? digits(result.error) : unknown, "{:.1f}"));
}

std::string range_text(const char* whose, const RangeCounts& counts) {
  std::string text;
  if (counts.over > 0) text += fmt::format(" {} of {} overflowed", counts.over, whose);
  if (counts.under > 0)
    text += fmt::format("{} {} of {} underflowed", text.empty() ? "" : ",", counts.under, whose);
  return text;
}

/// What left the range of its precision, and why there is no x.
std::string remarks(const ComparedSolver& one) {
  if (!one.skipped.empty()) return fmt::format("- {} is skipped: {}\n", title(one), one.skipped);
  if (one.turns.empty()) return "";
  const Turn& turn = fastest_turn(one);
  std::vector<std::string> parts;
  if (!turn.passed()) parts.push_back(" no x: " + turn.failure);
  if (turn.level) {
    parts.push_back(range_text("A", turn.level->matrix));
    if (turn.level->factors) parts.push_back(range_text("L and U", *turn.level->factors));
  }
  std::erase(parts, "");
  return parts.empty() ? "" : fmt::format("- {}:{}\n", title(one), fmt::join(parts, ";"));
}

ordered_json json_of(const RangeCounts& counts) {
  return {{"overflowed", counts.over}, {"underflowed", counts.under}};
}

}  // namespace

const char* const level_legend =
    "- the same A and b for all, with x known exactly (1 and -1); partial pivoting\n"
    "- best: seconds over the rounds, of scaling, LU and refinement; GFLOP/s: (2/3 N^3 + 3/2 N^2) "
    "/\n"
    "  best / 10^9; GiB: of a rank's LU, as planned, without A in FP64; J, W and C: energy and "
    "mean\n"
    "  power of the best, and the highest temperature of a GPU's samples\n"
    "- corr: solves with the factors in the refinement; first, error: max |x - x*| / max |x*| "
    "after\n"
    "  one solve with the factors, and at the end; digits: -log10 of the latter\n"
    "- overflowed: rounded to infinity; underflowed: below the smallest normal number\n";

std::string level_rows(const Comparison& comparison) {
  std::string text =
      fmt::format(fmt::runtime(level_row_format), "level", "type", "nb", "r x thr", "best, s",
                  "GFLOP/s", "GiB", "J", "W", "C", "corr", "first", "error", "digits");
  std::string below;
  for (const ComparedSolver& one : comparison.solvers) {
    text += level_row(one, comparison);
    below += remarks(one);
  }
  text += "\n";
  for (const LevelTraits& level : level_table)
    text += fmt::format("{:<5} {}\n", level.name, level.words);
  return below.empty() ? text : text + "\n" + below;
}

ordered_json json_of(const std::optional<LevelResult>& result) {
  if (!result) return {};
  return {{"corrections", result->corrections},
          {"first_error", number_or_null(result->first_error)},
          {"error", number_or_null(result->error)},
          {"matrix", json_of(result->matrix)},
          {"factors", result->factors ? json_of(*result->factors) : ordered_json()}};
}

}  // namespace speedwell
