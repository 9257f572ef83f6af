// SPDX-License-Identifier: BSD-3-Clause
#include "report/compare_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "core/expects.hpp"
#include "core/matrix_traits.hpp"
#include "core/option_text.hpp"
#include "document/option_json.hpp"
#include "document/option_lines.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "revision.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// What is known of a solver or a ceiling: a field in JSON, a column of a table, or both.
struct Fact {
  std::string key;     ///< empty: not in JSON
  std::string column;  ///< empty: not in a table
  ordered_json value;  ///< null: not known
  std::string cell{};  ///< of the table; empty: not known
};
using Facts = std::vector<Fact>;

Fact text_fact(std::string key, std::string column, const std::string& text) {
  return {std::move(key), std::move(column), text_or_null(text), text};
}

/// @param format of the cell, such as "{:.2f}"
Fact number_fact(std::string key, std::string column, double value, const char* format,
                 double unit = 1) {
  return {std::move(key), std::move(column), number_or_null(value),
          std::isnan(value)   ? ""
          : std::isinf(value) ? "inf"
                              : fmt::format(fmt::runtime(format), value / unit)};
}

Fact team_fact(int ranks, int threads) {
  return {"", "r x thr", nullptr, fmt::format("{} x {}", ranks, threads)};
}

ordered_json best_and_median(double best, double middle) {
  return {{"best", number_or_null(best)}, {"median", number_or_null(middle)}};
}

/// Errors of an x that is compared with the known one, and what the solver says of them.
Facts facts_of_error(const Turn& turn) {
  return {{"corrections", "corr", turn.corrections ? ordered_json(*turn.corrections) : nullptr,
           turn.corrections ? fmt::to_string(*turn.corrections) : ""},
          number_fact("first_error", "first", turn.first_error, "{:.1e}"),
          number_fact("error", "error", turn.error, "{:.1e}"),
          number_fact("bound", "bound", turn.bound, "{:.1e}"),
          number_fact("digits", "digits", digits(turn.error), "{:.1f}"),
          number_fact("condition", "condition", turn.condition, "{:.1e}")};
}

std::string verdict(const ComparedSolver& one) {
  if (!one.skipped.empty()) return "skipped";
  if (one.passed()) return "PASSED";
  const bool is_result =
      std::ranges::all_of(one.turns, [](const Turn& t) { return t.passed() || t.x_is_known; });
  return !one.turns.empty() && is_result ? "no x" : "FAILED";
}

/// What the sensors say of a turn that passed.
Facts facts_of_sensors(const Turn& turn) {
  double joules = unknown;
  double celsius = unknown;
  if (turn.sensors && turn.passed()) {
    joules = total_joules(turn.sensors->energy.sum).value().value_or(unknown);
    celsius = highest_sample(turn.sensors->monitors, Quantity::temperature);
  }
  return {number_fact("", "J", joules, "{:.4g}"),
          number_fact("", "W", joules / turn.seconds, "{:.0f}"),
          number_fact("", "C", celsius, "{:.0f}")};
}

Facts facts_of(const ComparedSolver& one, const Comparison& all) {
  const bool measured = one.passed();
  const Turn best = one.turns.empty() ? Turn{} : *one.fastest();
  const double seconds = best_seconds(one);
  const double middle = median_seconds(one);
  const double flops = all.flops() / 1e9;
  const double ratio = ratio_to_dgesv(one, all);
  const auto share = [&](const char* key, const char* column, double part) {
    return number_fact(key, column, measured ? part : unknown, "{:.1f} %", 0.01);
  };
  Facts facts = {{"", "solver", nullptr, label(one)},
                 text_fact("solver", "", std::string(solver_name(one))),
                 text_fact("level", "", one.level ? std::string(traits(*one.level).name) : ""),
                 text_fact("accuracy", "", one.accuracy ? option_text(*one.accuracy) : ""),
                 text_fact("precision", "type", std::string(name(one.precision))),
                 number_fact("lu_bytes", "GiB", one.lu_bytes, "{:.3g}", 0x1p30),
                 {"nb", "nb", one.nb > 0 ? ordered_json(one.nb) : nullptr,
                  one.nb > 0 ? fmt::to_string(one.nb) : ""},
                 {"ranks", "", one.ranks},
                 {"threads", "", one.threads},
                 team_fact(one.ranks, one.threads),
                 number_fact("seconds", "best, s", seconds, "{:.4g}"),
                 number_fact("median_seconds", "median, s", middle, "{:.4g}"),
                 {"gflops", "", best_and_median(flops / seconds, flops / middle)},
                 number_fact("", "GFLOP/s", flops / seconds, "{:.2f}"),
                 number_fact("over_dgesv", all.field() == Field::real ? "/dgesv" : "/zgesv", ratio,
                             ratio < 0.095 ? "{:.4f}" : "{:.2f}"),
                 share("share_of_ceiling", "share", share_of_ceiling(one, all)),
                 text_fact("ceiling", "of ceiling", all.gallery ? "" : one.ceiling),
                 share("refinement_share", "refine", best.refine_seconds / best.seconds),
                 share("check_share", "checks", best.check_seconds / best.seconds)};
  for (Fact& fact : facts_of_sensors(best)) facts.push_back(std::move(fact));
  facts.push_back(number_fact("scaled_residual", "residual",
                              measured ? best.scaled_residual : unknown, "{:.2e}"));
  for (Fact& fact : facts_of_error(best)) facts.push_back(std::move(fact));
  facts.push_back({"passed", "", one.skipped.empty() ? ordered_json(measured) : nullptr});
  facts.push_back({"", "verdict", nullptr, verdict(one)});
  facts.push_back(text_fact("skipped", "", one.skipped));
  return facts;
}

Facts facts_of(const Ceiling& one) {
  const double best = one.rates.empty() ? unknown : std::ranges::max(one.rates);
  const double middle = median(one.rates);
  return {text_fact("name", "ceiling", one.name),
          {"ranks", "", one.ranks},
          {"threads", "", one.threads},
          team_fact(one.ranks, one.threads),
          {"rate", "", best_and_median(best, middle)},
          number_fact("", "best", best, "{:.2f}"),
          number_fact("", "median", middle, "{:.2f}"),
          text_fact("unit", "unit", one.unit),
          text_fact("bounds", "bounds", one.bounds),
          text_fact("failure", "", one.failure)};
}

ordered_json json_of(const Facts& facts) {
  ordered_json result;
  for (const Fact& fact : facts)
    if (!fact.key.empty()) result[fact.key] = fact.value;
  return result;
}

/// A line for each of `rows`, which have the same columns, below their names. Text stands on the
/// left of its column, and numbers on the right.
std::string table(const std::vector<Facts>& rows) {
  std::vector<std::string> lines(rows.size() + 1);
  for (std::size_t k = 0; k < rows.front().size(); ++k) {
    const auto cell = [&](const Facts& row) {
      return row[k].cell.empty() ? std::string("-") : row[k].cell;
    };
    const auto is_known = [&](const Facts& row) { return !row[k].cell.empty(); };
    const std::string& column = rows.front()[k].column;
    if (column.empty() || std::ranges::none_of(rows, is_known)) continue;
    std::size_t width = column.size();
    for (const Facts& row : rows) width = std::max(width, cell(row).size());
    const auto is_number = [&](const Facts& row) { return row[k].value.is_number(); };
    const char* const format = std::ranges::any_of(rows, is_number) ? "{:>{}}  " : "{:<{}}  ";
    lines[0] += fmt::format(fmt::runtime(format), column, width);
    for (std::size_t i = 0; i < rows.size(); ++i)
      lines[i + 1] += fmt::format(fmt::runtime(format), cell(rows[i]), width);
  }
  for (std::string& line : lines) line.erase(line.find_last_not_of(' ') + 1);
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

std::string range_text(const char* whose, const std::optional<RangeCounts>& counts) {
  std::vector<std::string> parts;
  if (counts && counts->over > 0)
    parts.push_back(fmt::format("{} of {} overflowed", counts->over, whose));
  if (counts && counts->under > 0)
    parts.push_back(fmt::format("{} of {} underflowed", counts->under, whose));
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Which step solved, and which failed before.
std::string steps_text(const std::vector<SolveStep>& steps) {
  std::vector<std::string> parts;
  for (const SolveStep& step : steps)
    parts.push_back(fmt::format("{}{}, {:.4g} s{}", step.solved ? "solved in " : "failed in ",
                                name(step.precision), step.factor_seconds + step.refine_seconds,
                                step.solved ? "" : " (" + step.why + ")"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// Why a solver was skipped, each round in which it failed, and what is to be said of its fastest
/// turn.
std::vector<std::string> remarks(const ComparedSolver& one, const Comparison& all) {
  if (!one.skipped.empty()) return {"is skipped: " + one.skipped};
  if (one.turns.empty()) return {};
  const Turn& best = *one.fastest();
  std::vector<std::string> parts = {all.gallery ? steps_text(best.steps) : "", best.note,
                                    range_text("A", best.matrix),
                                    range_text("L and U", best.factors)};
  if (best.error > best.bound)
    parts.push_back(fmt::format("the error is {:.2g} times its bound", best.error / best.bound));
  for (std::size_t i = 0; i < one.turns.size(); ++i)
    if (const Turn& turn = one.turns[i]; !turn.passed())
      parts.push_back(fmt::format("{} in round {}: {}", turn.x_is_known ? "no x" : "FAILED", i + 1,
                                  turn.failure));
  std::erase(parts, "");
  return parts;
}

std::string remark_lines(const Comparison& all) {
  std::string text;
  for (const ComparedSolver& one : all.solvers)
    for (const std::string& part : remarks(one, all))
      text += fmt::format("- {}: {}\n", title(one), part);
  for (const Ceiling& one : all.ceilings)
    if (!one.failure.empty()) text += fmt::format("- {}: FAILED: {}\n", one.name, one.failure);
  for (const ComparedSolver& one : all.solvers) {
    const Turn* const best = one.fastest();
    if (best == nullptr || !best->sensors || best->sensors->energy.missing.empty()) continue;
    text += fmt::format("- energy: {}\n", energy_text(best->sensors->energy, all.flops()));
    break;
  }
  return text.empty() ? "" : "\n" + text;
}

/// What is compared: "HPL-MxP, HPL and LAPACK", or "speedwell::solve and LAPACK, gaussian, 300
/// right-hand sides".
std::string compare_title(const CompareOptions& who, const std::string& rhs) {
  if (who.levels) return fmt::format("levels of precision, {}", name(who.gallery.value()));
  if (!who.gallery) return "HPL-MxP, HPL and LAPACK";
  if (who.accuracy) return fmt::format("accuracy against time, {}", name(*who.gallery));
  return fmt::format("speedwell::solve and LAPACK, {}{}", name(*who.gallery),
                     who.rhs == 1 ? "" : fmt::format(", {} right-hand sides", rhs));
}

constexpr const char* common_legend =
    "- GFLOP/s: 2/3 N^3 + (2 K - 1/2) N^2 operations, K right-hand sides, over the best time, for\n"
    "  all (complex: four times as many); /dgesv: dgesv's best time over the solver's\n"
    "- r x thr: ranks x threads; LAPACK has those of rank 0, which works alone\n"
    "- J, W: energy of the best and its mean power, of GPUs and CPU packages only; C: the highest\n"
    "  temperature of a GPU's samples\n";

constexpr const char* residual_legend =
    "- residual: ||Ax-b||_oo / (eps (||A||_oo ||x||_oo + ||b||_oo) N), computed alike for all\n"
    "  in FP64 from A and b generated anew, eps = 2^-53; of several right-hand sides the worst\n";

constexpr const char* benchmark_legend =
    "- best, median: over the rounds, of factorization and refinement; refine: the latter's part\n"
    "- ceiling: at the shapes of all updates of a run, weighted by their operations, K = NB;\n"
    "  share: of what the ceiling is for as many ranks\n";

constexpr const char* gallery_legend =
    "- best, median: over the rounds, with A and b in the memory of rank 0; of solve, the whole\n"
    "  call with all its checks; LAPACK's copies of A and b are made before; type: of solve, the\n"
    "  step that solved\n"
    "- refine, checks: parts of the best time; checks: errors of x, condition number, bounds\n";

constexpr const char* known_legend =
    "- the same A and b for all, with x known exactly: its numbers are 1 and -1\n"
    "- error: max |x - x*| / max |x*|, x* being the known x; digits: -log10 of it, at most 16;\n"
    "  bound: the solver's own bound of the error; condition: the solver's estimate\n";

constexpr const char* level_legend =
    "- best, median: over the rounds, of scaling, LU with partial pivoting, and refinement\n"
    "- GiB: of a rank's LU, as planned, without A in FP64; corr: solves with the factors in the\n"
    "  refinement; first: the error after one solve with the factors\n"
    "- overflowed: rounded to infinity; underflowed: below the smallest normal number\n";

std::string legend(const CompareOptions& who) {
  std::string text = !who.gallery ? benchmark_legend : who.levels ? level_legend : gallery_legend;
  text += common_legend;
  text += who.levels || who.accuracy ? known_legend : residual_legend;
  if (who.levels)
    for (const LevelTraits& level : level_table)
      text += fmt::format("- {}: {}\n", level.name, level.words);
  return text;
}

ordered_json json_of(const std::optional<RangeCounts>& counts) {
  if (!counts) return nullptr;
  return {{"overflowed", counts->over}, {"underflowed", counts->under}};
}

ordered_json json_of(const Turn& turn, const Comparison& all) {
  ordered_json result = {{"seconds", number_or_null(turn.seconds, turn.seconds > 0)},
                         {"refine_seconds", number_or_null(turn.refine_seconds)},
                         {"check_seconds", number_or_null(turn.check_seconds)},
                         {"steps", json_of(turn.steps)},
                         {"scaled_residual", number_or_null(turn.scaled_residual)}};
  result.update(json_of(facts_of_error(turn)));
  result.update(ordered_json{
      {"matrix", json_of(turn.matrix)},
      {"factors", json_of(turn.factors)},
      {"passed", turn.passed()},
      {"failure", text_or_null(turn.failure)},
      {"note", text_or_null(turn.note)},
      {"energy", turn.sensors ? json_of(turn.sensors->energy, all.flops()) : ordered_json()},
      {"monitor", turn.sensors ? json_of_monitors(turn.sensors->monitors) : ordered_json()}});
  return result;
}

ordered_json json_of(const Comparison& comparison) {
  ordered_json result = {{"n", comparison.n},
                         {"right_hand_sides", comparison.rhs},
                         {"passed", comparison.passed()},
                         {"solvers", ordered_json::array()},
                         {"ceilings", ordered_json::array()}};
  for (const ComparedSolver& one : comparison.solvers) {
    ordered_json& solver = result["solvers"].emplace_back(json_of(facts_of(one, comparison)));
    solver["turns"] = ordered_json::array();
    for (const Turn& turn : one.turns) solver["turns"].push_back(json_of(turn, comparison));
  }
  for (const Ceiling& one : comparison.ceilings)
    result["ceilings"].push_back(json_of(facts_of(one)));
  return result;
}

}  // namespace

std::string compare_head(const Setup& setup, const CompareOptions& who,
                         const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes) {
  const BenchmarkOptions& o = setup.options;
  const std::optional<GalleryKind>& gallery = who.gallery;
  const std::string rhs = who.rhs > 0 ? fmt::to_string(who.rhs) : "N";
  std::string text = fmt::format("Speedwell {} ({})  --  {} in turns\n\n", SPEEDWELL_VERSION,
                                 SPEEDWELL_REVISION, compare_title(who, rhs));
  text += line("N", fmt::format("{}", fmt::join(orders, ", ")));
  text += line("ROUNDS", fmt::to_string(rounds));
  text += line("MATRIX",
               (gallery ? fmt::format("{}, seed {}", name(*gallery), o.seed) : matrix_text(o)) +
                   ", for all of them");
  if (gallery && !who.levels && !who.accuracy) text += line("RHS", rhs);
  text += line("GRID", fmt::format("{} x {}, the first rank on {}", o.run.nprow, o.run.npcol,
                                   setup.machine.hosts.front()));
  OptionLines lines;
  lines.add(o.run);
  // These are shown elsewhere, or differ between solvers.
  lines.skip({"nprow", "npcol", "nporder", "nb", "lookahead", "chunk"});
  text += lines.take_as("device", fmt::format("{}: {}", name(o.run.device), setup.machine.device));
  text += line("LAPACK", blas_description());
  if (setup.machine.gpus.empty()) lines.skip({"gpus", "reserve"});
  lines.skip({"fp64"});  // native: a comparison allows nothing else
  text += lines.rest() + "\n";
  for (const auto* list : {&setup.notes, &notes})
    for (const std::string& note : *list) text += fmt::format("- {}\n", note);
  return text + legend(who);
}

std::string compare_tables(const Comparison& comparison) {
  const std::string rhs =
      comparison.rhs == 1 ? "" : fmt::format(", {} right-hand sides", comparison.rhs);
  std::string text = fmt::format("\n{}\nN = {}{}\n{}\n", rule, comparison.n, rhs, rule);
  std::vector<Facts> rows;
  for (const ComparedSolver& one : comparison.solvers) rows.push_back(facts_of(one, comparison));
  text += table(rows);
  rows.clear();
  for (const Ceiling& one : comparison.ceilings) rows.push_back(facts_of(one));
  if (!rows.empty()) text += "\n" + table(rows);
  return text + remark_lines(comparison);
}

std::string turn_line(const ComparedSolver& entry, const Comparison& all, int round, int rounds) {
  const Turn& turn = entry.turns.back();
  const std::string outcome =
      turn.passed()
          ? fmt::format("{:.4g} s, {:.2f} GFLOP/s", turn.seconds, all.flops() / turn.seconds / 1e9)
          : (turn.x_is_known ? "no x: " : "FAILED: ") + turn.failure;
  return fmt::format("n = {}, round {} of {}: {} {}", all.n, round, rounds, title(entry), outcome);
}

ordered_json json_of_comparisons(const Setup& setup, const std::vector<Comparison>& all, int rounds,
                                 std::time_t begin, const std::string& command_line,
                                 const std::vector<std::string>& notes) {
  SPEEDWELL_EXPECTS(!all.empty());
  const BenchmarkOptions& o = setup.options;
  const std::optional<GalleryKind> gallery = all.front().gallery;
  ordered_json document = json_origin("compare", begin, setup.machine.hosts, command_line);
  document.update({{"rounds", rounds},
                   {"matrix", gallery ? name(*gallery) : name(o.matrix)},
                   {"seed", o.seed},
                   {"ranks", setup.machine.hosts.size()}});
  document.update(json_of_options(o.run));
  for (const char* chosen_by_each : {"nb", "lookahead", "chunk"}) document.erase(chosen_by_each);
  document.update({{"device_description", setup.machine.device},
                   {"processor", processor_model()},
                   {"blas", blas_description()}});
  if (!gallery && traits_of(o.matrix).tunable)
    document.update({{"kappa", o.kappa}, {"rho", o.rho}});
  document["notes"] = setup.notes;
  for (const std::string& note : notes) document["notes"].push_back(note);
  document["passed"] = std::ranges::all_of(all, &Comparison::passed);
  for (const Comparison& one : all) document["orders"].push_back(json_of(one));
  return document;
}

}  // namespace speedwell
