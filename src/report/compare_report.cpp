// SPDX-License-Identifier: BSD-3-Clause
#include "report/compare_report.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <optional>
#include <vector>

#include "document/option_lines.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "host/blas_library.hpp"
#include "host/processor.hpp"
#include "report/level_report.hpp"
#include "revision.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

constexpr std::string_view wide_rule =
    "--------------------------------------------------------------------------------"
    "-------------------------";

/// A table's cell: the text, or a dash if the value is not known.
std::string cell(bool known, const std::string& text) {
  return known ? text : "-";
}

std::string team(int ranks, int threads) {
  return fmt::format("{} x {}", ranks, threads);
}

std::string solver_row(std::string_view name, std::string_view precision, const std::string& nb,
                       const std::string& who, const std::string& best, const std::string& median,
                       const std::string& seconds, const std::string& ratio,
                       const std::string& share, const std::string& ceiling,
                       const std::string& refinement, const std::string& residual) {
  return fmt::format("{:<7} {:<6} {:>5} {:>8} {:>9} {:>9} {:>9} {:>7} {:>7} {:<12} {:>7}  {}\n",
                     name, precision, nb, who, best, median, seconds, ratio, share, ceiling,
                     refinement, residual);
}

std::string verdict(const ComparedSolver& entry) {
  if (!entry.skipped.empty()) return "skipped";
  if (!entry.passed()) return "FAILED";
  return fmt::format("{:.2e} PASSED", fastest_turn(entry).scaled_residual);
}

std::string row(const ComparedSolver& one, const Comparison& all) {
  const Statistics rate = statistics(rates(one, all));
  const bool measured = rate.best > 0;
  const double ratio = ratio_to_dgesv(one, all);
  const double share = share_of_ceiling(one, all);
  const double refinement = refinement_share(one);
  return solver_row(
      name(one.solver), name(one.precision), cell(one.nb > 0, fmt::to_string(one.nb)),
      team(one.ranks, one.threads), cell(measured, fmt::format("{:.2f}", rate.best)),
      cell(measured, fmt::format("{:.2f}", rate.median)),
      cell(measured, fmt::format("{:.4g}", benchmark_flops(all.n) / rate.best / 1e9)),
      cell(ratio > 0, fmt::format("{:.2f}", ratio)),
      cell(share > 0, fmt::format("{:.1f} %", 100 * share)), one.ceiling,
      cell(measured && std::isfinite(refinement), fmt::format("{:.1f} %", 100 * refinement)),
      verdict(one));
}

std::string gallery_row(std::string_view name, std::string_view precision, const std::string& who,
                        const std::string& best, const std::string& median,
                        const std::string& ratio, const std::string& refinement,
                        const std::string& checks, const std::string& residual) {
  return fmt::format("{:<7} {:<6} {:>8} {:>10} {:>10} {:>7} {:>7} {:>7}  {}\n", name, precision,
                     who, best, median, ratio, refinement, checks, residual);
}

/// A row of a comparison with a matrix of the gallery, where times count.
std::string timed_row(const ComparedSolver& one, const Comparison& all) {
  const bool measured = one.passed() && one.skipped.empty();
  const double ratio = ratio_to_dgesv(one, all);
  const auto share = [&](double value) {
    return cell(measured && std::isfinite(value), fmt::format("{:.1f} %", 100 * value));
  };
  return gallery_row(
      solver_name(one.solver, one.field), name(one.precision), team(one.ranks, one.threads),
      cell(measured, measured ? fmt::format("{:.4g}", fastest_turn(one).seconds) : ""),
      cell(measured, fmt::format("{:.4g}", median_seconds(one))),
      cell(ratio > 0, fmt::format("{:.{}f}", ratio, ratio < 0.095 ? 4 : 2)),
      share(refinement_share(one)), share(check_share(one)), verdict(one));
}

constexpr const char* accuracy_row_format =
    "{:<14} {:<6} {:>8} {:>10} {:>10} {:>7} {:>8} {:>8} {:>6} {:>9}\n";

/// A row of a comparison of accuracies.
std::string accuracy_row(const ComparedSolver& one, const Comparison& all) {
  const bool measured = one.passed() && one.skipped.empty();
  const Turn turn = one.turns.empty() ? Turn{} : fastest_turn(one);
  const AccuracyResult result = turn.accuracy.value_or(AccuracyResult{});
  const double ratio = ratio_to_dgesv(one, all);
  const auto number = [](double value) {
    return cell(!std::isnan(value), fmt::format("{:.1e}", value));
  };
  return fmt::format(fmt::runtime(accuracy_row_format), title(one), name(one.precision),
                     team(one.ranks, one.threads),
                     cell(measured, fmt::format("{:.4g}", turn.seconds)),
                     cell(measured, fmt::format("{:.4g}", median_seconds(one))),
                     cell(ratio > 0, fmt::format("{:.{}f}", ratio, ratio < 0.095 ? 4 : 2)),
                     number(result.error), number(result.bound),
                     cell(!std::isnan(result.error), fmt::format("{:.1f}", digits(result.error))),
                     number(result.condition));
}

/// Where a solver's bound does not hold.
std::string broken_bound(const ComparedSolver& one) {
  if (one.turns.empty() || !fastest_turn(one).accuracy) return "";
  const AccuracyResult& result = *fastest_turn(one).accuracy;
  if (!(result.error > result.bound)) return "";
  return fmt::format("- {}: the error is {:.2g} times its bound\n", title(one),
                     result.error / result.bound);
}

/// Which step solved in the fastest turn, and which failed before; and the turn's note.
std::string explanation(const ComparedSolver& one) {
  if (!one.skipped.empty() || one.turns.empty()) return "";
  const Turn& turn = fastest_turn(one);
  std::string text;
  if (!turn.steps.empty()) {
    std::vector<std::string> steps;
    for (const SolveStep& step : turn.steps)
      steps.push_back(fmt::format("{}{}, {:.4g} s{}", step.solved ? "solved in " : "failed in ",
                                  name(step.precision), step.factor_seconds + step.refine_seconds,
                                  step.solved ? "" : " (" + step.why + ")"));
    text += fmt::format("- {}: {}\n", title(one), fmt::join(steps, "; "));
  }
  if (!turn.note.empty()) text += fmt::format("- {}: {}\n", title(one), turn.note);
  return text;
}

/// Why a solver was skipped, or a line for each round in which it failed.
std::string reasons(const ComparedSolver& one) {
  if (!one.skipped.empty()) return fmt::format("- {} is skipped: {}\n", title(one), one.skipped);
  std::string text;
  for (std::size_t i = 0; i < one.turns.size(); ++i)
    if (!one.turns[i].passed())
      text += fmt::format("- {} {} in round {}: {}\n", title(one),
                          one.turns[i].accuracy ? "has no x of the required accuracy" : "FAILED",
                          i + 1, one.turns[i].failure);
  return text;
}

std::string reasons(const Ceiling& one) {
  return one.failure.empty() ? "" : fmt::format("- {} FAILED: {}\n", one.name, one.failure);
}

std::string ceiling_row(const std::string& name, const std::string& who, const std::string& best,
                        const std::string& median, const std::string& unit,
                        const std::string& shape, const std::string& bounds) {
  return fmt::format("{:<15} {:>8} {:>9} {:>9} {:<7}  {:<32} {}\n", name, who, best, median, unit,
                     shape, bounds);
}

std::string row(const Ceiling& one) {
  const Statistics rate = statistics(one.rates);
  const bool measured = !one.rates.empty();
  return ceiling_row(one.name, team(one.ranks, one.threads),
                     cell(measured, fmt::format("{:.2f}", rate.best)),
                     cell(measured, fmt::format("{:.2f}", rate.median)), one.unit,
                     cell(!one.best_shape.empty(),
                          fmt::format("{:.2f} at {}", one.best_shape_rate, one.best_shape)),
                     one.bounds);
}

/// The energy of each solver's fastest turn, or why there is none.
std::string energy_lines(const Comparison& all) {
  std::string known;
  std::string unknown_energy;
  for (const ComparedSolver& one : all.solvers) {
    if (one.turns.empty() || !fastest_turn(one).sensors) continue;
    const EnergyReport& energy = fastest_turn(one).sensors->energy;
    const std::string words = energy_text(energy, all.flops());
    if (energy.missing.empty())
      known += fmt::format("- {}: {}\n", title(one), words);
    else
      unknown_energy = fmt::format("\nenergy: {}\n", words);
  }
  return known.empty() ? unknown_energy : "\nenergy of the best\n" + known;
}

/// How many right-hand sides there are; N: as many as the order.
std::string rhs_text(std::int64_t rhs) {
  return rhs > 0 ? fmt::to_string(rhs) : "N";
}

constexpr std::string_view residual_legend =
    "- residual: ||Ax-b||_oo / (eps (||A||_oo ||x||_oo + ||b||_oo) N), computed alike for all\n"
    "  in FP64 from A and b generated anew, eps = 2^-53\n";

constexpr std::string_view legend =
    "- best, median: GFLOP/s over the rounds, (2/3 N^3 + 3/2 N^2) / time / 10^9 for all;\n"
    "  seconds: of the best; ranks x threads: LAPACK has those of rank 0, which works alone\n"
    "- ceiling: at the shapes of all updates of a run, weighted by their operations, K = NB;\n"
    "  share: of what the ceiling is for as many ranks\n";

constexpr std::string_view gallery_legend =
    "- best, median: seconds over the rounds, with A and b in the memory of rank 0; of solve, the\n"
    "  whole call with all its checks; LAPACK's copies of A and b are made before; /dgesv: "
    "dgesv's\n"
    "  best time over this one's; type: of solve, the step that solved\n"
    "- refine, checks: parts of the best time; checks: errors of x, condition number, bounds\n"
    "- several right-hand sides are solved for in one call; the residual is that of the worst\n"
    "- ranks x threads: LAPACK has those of rank 0, which works alone\n";

constexpr std::string_view accuracy_legend =
    "- the same A and b for all, with x known exactly: its numbers are 1 and -1\n"
    "- best, median: seconds over the rounds, with A and b in the memory of rank 0; of solve, the\n"
    "  whole call with all its checks; LAPACK's copies of A and b are made before; /dgesv: "
    "dgesv's\n"
    "  best time over the solver's; type: of solve, the step that solved\n"
    "- error: max |x - x*| / max |x*|, x* being the known x; digits: -log10 of it, at most 16;\n"
    "  bound: the solver's own bound of the error; condition: the solver's estimate\n"
    "- ranks x threads: LAPACK has those of rank 0, which works alone\n";

}  // namespace

std::string compare_title(const CompareOptions& who) {
  if (who.levels) return fmt::format("levels of precision, {}", name(who.gallery.value()));
  if (!who.gallery) return "HPL-MxP, HPL and LAPACK";
  if (who.accuracy) return fmt::format("accuracy against time, {}", name(*who.gallery));
  return fmt::format("speedwell::solve and LAPACK, {}{}", name(*who.gallery),
                     who.rhs == 1 ? "" : fmt::format(", {} right-hand sides", rhs_text(who.rhs)));
}

std::string compare_head(const Setup& setup, const CompareOptions& who,
                         const std::vector<std::int64_t>& orders, int rounds,
                         const std::vector<std::string>& notes) {
  const BenchmarkOptions& o = setup.options;
  const std::optional<GalleryKind>& gallery = who.gallery;
  std::string text = fmt::format("Speedwell {} ({})  --  {} in turns\n\n", SPEEDWELL_VERSION,
                                 SPEEDWELL_REVISION, compare_title(who));
  const auto line = [&](const char* label, const std::string& value) {
    text += fmt::format("{:<10} : {}\n", label, value);
  };
  line("N", fmt::format("{}", fmt::join(orders, ", ")));
  line("ROUNDS", fmt::to_string(rounds));
  line("MATRIX", (gallery ? fmt::format("{}, seed {}", name(*gallery), o.seed) : matrix_text(o)) +
                     ", for all of them");
  if (gallery && !who.levels && !who.accuracy) line("RHS", rhs_text(who.rhs));
  line("GRID", fmt::format("{} x {}, the first rank on {}", o.run.nprow, o.run.npcol,
                           setup.machine.hosts.front()));
  OptionLines lines;
  lines.add(o.run);
  // These are shown elsewhere, or differ between solvers.
  lines.skip({"nprow", "npcol", "nporder", "nb", "lookahead", "chunk"});
  text += lines.take_as("device", fmt::format("{}: {}", name(o.run.device), setup.machine.device));
  line("LAPACK", blas_description());
  if (setup.machine.gpus.empty()) lines.skip({"gpus", "reserve"});
  lines.skip({"fp64"});  // native: a comparison allows nothing else
  text += lines.rest();
  text += "\n";
  for (const auto* list : {&setup.notes, &notes})
    for (const std::string& note : *list) text += fmt::format("- {}\n", note);
  if (who.levels) return text + level_legend;
  if (who.accuracy) return text.append(accuracy_legend);
  return text.append(gallery ? gallery_legend : legend).append(residual_legend);
}

std::string compare_tables(const Comparison& comparison) {
  const std::string rhs =
      comparison.rhs == 1 ? "" : fmt::format(", {} right-hand sides", comparison.rhs);
  std::string text = fmt::format("\n{}\nN = {}{}\n{}\n", wide_rule, comparison.n, rhs, wide_rule);
  if (comparison.by_level()) return text + level_rows(comparison) + energy_lines(comparison);
  std::string why;
  const char* over_dgesv = comparison.field() == Field::real ? "/dgesv" : "/zgesv";
  if (comparison.by_accuracy) {
    text += fmt::format(fmt::runtime(accuracy_row_format), "solver", "type", "r x thr", "best, s",
                        "median, s", over_dgesv, "error", "bound", "digits", "condition");
    for (const ComparedSolver& one : comparison.solvers) {
      text += accuracy_row(one, comparison);
      why += explanation(one) + broken_bound(one);
    }
  } else if (comparison.gallery) {
    text += gallery_row("solver", "type", "r x thr", "best, s", "median, s", over_dgesv, "refine",
                        "checks", "residual");
    for (const ComparedSolver& one : comparison.solvers) {
      text += timed_row(one, comparison);
      why += explanation(one);
    }
  } else {
    text += solver_row("solver", "type", "nb", "r x thr", "best", "median", "seconds", "/dgesv",
                       "share", "of ceiling", "refine", "residual");
    for (const ComparedSolver& one : comparison.solvers) text += row(one, comparison);
    text += "\n";
    text += ceiling_row("ceiling", "r x thr", "best", "median", "unit", "best shape", "bounds");
    for (const Ceiling& one : comparison.ceilings) text += row(one);
  }
  text += energy_lines(comparison);
  for (const ComparedSolver& one : comparison.solvers) why += reasons(one);
  for (const Ceiling& one : comparison.ceilings) why += reasons(one);
  return why.empty() ? text : text + "\n" + why;
}

std::string turn_line(const ComparedSolver& entry, const Comparison& all, int round, int rounds) {
  const Turn& turn = entry.turns.back();
  const std::string rate =
      all.gallery && !all.by_level()
          ? std::string(name(entry.precision))
          : fmt::format("{:.2f} GFLOP/s", benchmark_flops(all.n) / turn.seconds / 1e9);
  return fmt::format("n = {}, round {} of {}: {} {}", all.n, round, rounds, title(entry),
                     turn.passed() ? fmt::format("{}, {:.4g} s", rate, turn.seconds)
                                   : (all.x_is_known() ? "no x: " : "FAILED: ") + turn.failure);
}

}  // namespace speedwell
