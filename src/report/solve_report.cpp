// SPDX-License-Identifier: BSD-3-Clause
#include "report/solve_report.hpp"
#include "core/counted.hpp"
#include "io/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/numbers.hpp"
#include "device/device.hpp"
#include "document/option_json.hpp"
#include "document/option_lines.hpp"
#include "document/report_parts.hpp"
#include "document/sensor_text.hpp"
#include "refine/refinement.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

/// Up to so many right-hand sides have a line each; of more, those that are not solved, or else the
/// worst.
constexpr std::size_t most_lines = 16;
/// At most so many of those that are not solved are named.
constexpr std::size_t most_named = 10;

double tolerance(const SolveRun& run) {
  return componentwise_tolerance(run.options.tolerance, parts_of(run.field) * run.n);
}

/// A number, or a dash for NaN.
std::string measured(double value) {
  return std::isnan(value) ? "-" : fmt::format("{:.2e}", value);
}

/// Whether each error falls below the tolerance while corrections help (see RefineOptions).
bool goes_on(const SolveRun& run) {
  return run.options.tolerance == 0 && run.right_hand_sides <= Device::few_vectors;
}

/// Indices of the right-hand sides that are not solved, in order.
std::vector<std::size_t> not_solved(const Solution& s) {
  std::vector<std::size_t> all;
  for (std::size_t k = 0; k < s.columns.size(); ++k)
    if (!s.columns[k].converged) all.push_back(k);
  return all;
}

/// Why the file of x is not there although x is; empty where it is.
std::string unkept(const SolveRun& run) {
  if (run.x.empty()) return "not kept: no -o";
  return run.x_is_lost ? fmt::format("not kept: '{}' could not be written", run.x) : "";
}

/// Whether the file of x is written, whole or in part.
bool is_written(const SolveRun& run, const Solution& s) {
  return unkept(run).empty() && (run.failure.empty() || is_solved_in_part(run, s));
}

/// Whether the solution holds chosen options. After a failure it may hold its steps alone.
bool was_set_up(const Solution& s) {
  return s.chosen.nprow > 0;
}

/// Largest difference between x and ones, if b is A times ones; NaN if b was given or x is not
/// known.
double difference_from_ones(const SolveRun& run, const Solution& s) {
  if (!run.b.empty() || s.x.empty()) return unknown;
  double most = 0;
  for (const double x : s.x) most = std::max(most, std::abs(x - 1));
  return most;
}

std::string accuracy_text(const Solution& s) {
  const std::string to_last = "x to its last digit, residuals in twice FP64's precision";
  if (s.accuracy == Accuracy::backward) return "backward";
  if (s.accuracy == Accuracy::forward) return "forward: " + to_last;
  const SolveProof& proof = s.proof;
  return fmt::format(
      "certified: {}; a proof of {:.2g} operations beside the LU{}", to_last, proof.operations,
      proof.expected_seconds > 0 ? fmt::format(", {:.2g} s expected", proof.expected_seconds) : "");
}

std::string given_lines(const SolveRun& run, const Solution& s) {
  const SolveOptions& o = run.options;
  std::string text = line("A", fmt::format("{}, {} x {}{}", run.a, run.n, run.n,
                                           run.field == Field::real ? "" : ", complex"));
  text += line("b", run.b.empty() ? "none given: A times ones, so that x should be ones"
                                  : fmt::format("{}, {}", run.b,
                                                counted(run.right_hand_sides, "right-hand side")));
  text += line("x", unkept(run).empty() ? run.x : unkept(run));
  OptionLines lines;
  lines.add(o);
  const Precision first = s.reason.empty() ? Precision::automatic : s.steps.front().precision;
  text +=
      first == Precision::automatic
          ? lines.take("precision")
          : lines.take_as("precision", fmt::format("{}, {} first", name(o.precision), name(first)),
                          s.reason);
  // An automatic first step is shown by PRECISION.
  if (o.first == Precision::automatic)
    lines.skip({"first"});
  else
    text += lines.take("first");
  text += lines.take_as(
      "refine", fmt::format("{}, at most {} corrections a step", name(o.refine), o.max_iterations));
  text += lines.take_as("tolerance",
                        fmt::format("{:.2e}, componentwise backward error{}", tolerance(run),
                                    goes_on(run) ? "; refined while that falls" : ""));
  text += lines.take_as("accuracy", accuracy_text(s), s.accuracy_reason);
  text += line("SEED", fmt::format("{} of random vectors: --probe-seed", s.probe_seed));
  text += lines.take_as("strict", o.strict ? "on, a doubt about x is a failure" : "off");
  // REFINE, SCALING, CONDITION and SEED show these. The options of the run are shown as chosen, in
  // machine_lines().
  lines.skip({"max_iterations", "equilibrate", "condition", "probe_seed"});
  for (const OptionText& option : option_texts(o.run)) lines.skip({option.name});
  return text + lines.rest();
}

std::string machine_lines(const SolveRun& run, const Solution& s) {
  const RunOptions& o = s.chosen;
  OptionLines lines;
  lines.add(o);
  std::string text = line("SCALING", !run.options.equilibrate ? "off"
                                     : s.equilibrated         ? "rows and columns, by powers of two"
                                                              : "none was needed");
  text += lines.take("nb");
  text += line("GRID", fmt::format("{} x {}, {}-major", o.nprow, o.npcol, name(o.order)));
  lines.skip({"nprow", "npcol", "nporder"});
  text += line("RANKS", ranks_text(run.hosts));
  text += lines.take("lookahead") + lines.take("bcast");
  text += line("PANEL", fmt::format("{} columns a step", s.panel_width));
  text += lines.take_as("chunk", chunk_text(o.chunk, run.n) + " columns at a time");
  text += lines.take_as("device", fmt::format("{}: {}", name(o.device), s.device));
  text += lines.take("comm");
  text += lines.take_as("threads", fmt::format("{} a rank", o.threads));
  text += lines.take_as("stall_timeout", stall_text(o.stall_timeout));
  if (o.device == DeviceKind::cpu)
    lines.skip({"gpus", "reserve", "fp64"});
  else
    text += lines.take_as("fp64", s.fp64_products);
  return text + lines.rest();
}

/// Whether the products of the step's LU were emulated.
bool is_emulated(const SolveStep& step, const Solution& s) {
  return step.precision == Precision::fp64 && s.chosen.fp64 == Fp64Products::emulated;
}

std::string step_lines(const Solution& s) {
  std::string text = fmt::format("\n{:<5} {:<9} {:>10} {:>14} {:>12}  {}\n", "Step", "precision",
                                 "LU, s", "refinement, s", "corrections", "outcome");
  for (std::size_t i = 0; i < s.steps.size(); ++i) {
    const SolveStep& step = s.steps[i];
    text += fmt::format("{:<5} {:<9} {:>10.3f} {:>14.3f} {:>12}  {}\n", i + 1, name(step.precision),
                        step.factor_seconds, step.refine_seconds, step.iterations,
                        std::string(is_emulated(step, s) ? "emulated FP64, " : "") +
                            (step.rotated ? "rotated, " : "") +
                            (step.solved ? "solved" : "left: " + step.why));
  }
  return text;
}

std::string column_line(std::size_t index, const SolveColumn& c) {
  return fmt::format("{:<15} {:<9} {:<6} {:>11} {:>13} {:>9} {:>9} {:>10}{}\n", index + 1,
                     name(c.precision), name(c.method), c.iterations,
                     measured(c.componentwise_error), measured(c.backward_error),
                     measured(c.hpl_residual), measured(c.forward_bound),
                     c.converged     ? ""
                     : c.why.empty() ? "  not met"
                                     : "  not met: " + c.why);
}

/// Index of the right-hand side with the largest error: componentwise, or normwise where that is
/// not measured.
std::size_t worst(const std::vector<SolveColumn>& columns) {
  const auto rank = [](const SolveColumn& c) {
    const double error =
        std::isnan(c.componentwise_error) ? c.backward_error : c.componentwise_error;
    return std::isfinite(error) ? error : HUGE_VAL;
  };
  return static_cast<std::size_t>(
      std::max_element(columns.begin(), columns.end(),
                       [&](const auto& a, const auto& b) { return rank(a) < rank(b); }) -
      columns.begin());
}

/// Indices of the right-hand sides that have a line each.
std::vector<std::size_t> shown(const Solution& s) {
  std::vector<std::size_t> some(s.columns.size());
  std::iota(some.begin(), some.end(), std::size_t{0});
  if (some.size() <= most_lines) return some;
  some = not_solved(s);
  if (some.empty()) return {worst(s.columns)};
  some.resize(std::min(some.size(), most_named));
  return some;
}

/// What the lines of a few of many right-hand sides are.
std::string choice_line(const Solution& s) {
  const std::size_t all = s.columns.size();
  const std::size_t missed = not_solved(s).size();
  if (missed == 0) return fmt::format("the worst of {}; {} meet the tolerance\n", all, all);
  return fmt::format("{} of {} do not meet the tolerance{}\n", missed, all,
                     missed > most_named ? fmt::format("; the first {} of them", most_named) : "");
}

std::string error_lines(const Solution& s) {
  const std::vector<SolveColumn>& all = s.columns;
  if (all.empty()) return "";
  std::string text = fmt::format(
      "\nErrors, in FP64 with A as it was given\n{:<15} {:<9} {:<6} {:>11} {:>13} "
      "{:>9} {:>9} {:>10}\n",
      "Right-hand side", "precision", "method", "corrections", "componentwise", "normwise", "HPL",
      "forward <=");
  const std::vector<std::size_t> some = shown(s);
  for (const std::size_t k : some) text += column_line(k, all[k]);
  if (all.size() > most_lines) text += choice_line(s);
  if (std::any_of(some.begin(), some.end(),
                  [&](std::size_t k) { return std::isnan(all[k].componentwise_error); }))
    text +=
        "componentwise -: not measured; normwise is then an upper estimate (--condition full "
        "measures both)\n";
  return text;
}

/// The decimal digits that a bound of a relative error leaves, rounded down; of 53 bits at most.
std::string digits(double bound) {
  constexpr double most = 53 * 0.30102999566398;
  return fmt::format("{:.1f}", std::floor(10 * std::clamp(-std::log10(bound), 0.0, most)) / 10);
}

/// What the proof has shown, and at what cost.
std::string proof_line(const Solution& s) {
  const SolveProof& proof = s.proof;
  if (s.accuracy != Accuracy::certified) return "";
  const std::string shown =
      std::isnan(proof.norm)
          ? ""
          : fmt::format("||I - R A|| <= {:.2e}, R by {} factors, products in {}; ", proof.norm,
                        name(proof.inverse), name(proof.products));
  return line("PROOF", fmt::format("{}{}{:.3f} s of the checks",
                                   proof.why_none.empty() ? "" : "none; ", shown, proof.seconds));
}

/// How many digits of every x are certain, or proven, with Accuracy::forward and certified; empty
/// without bounds.
std::string digits_line(const Solution& s) {
  if (s.accuracy == Accuracy::backward || s.columns.empty()) return "";
  double norm = 0;
  double component = 0;
  for (const SolveColumn& c : s.columns) {
    if (std::isnan(c.forward_bound)) return "";
    norm = std::max(norm, c.forward_bound);
    // NaN, where not every entry is bounded.
    component = c.componentwise_bound > component || std::isnan(c.componentwise_bound)
                    ? c.componentwise_bound
                    : component;
  }
  const std::ptrdiff_t rest = std::ranges::count(s.columns, false, &SolveColumn::accurate);
  std::string text = digits(norm) + " digits in norm";
  if (rest > 0 && s.accuracy == Accuracy::forward)
    text += fmt::format("; not certain to the last one{}",
                        s.columns.size() > 1 ? fmt::format(" for {} of them", rest) : "");
  else if (std::isfinite(component))
    text += fmt::format(", {} in the worst component", digits(component));
  else if (std::isinf(component))
    text += ", not certain in the worst component";
  return line("x", text + (s.accuracy == Accuracy::certified ? ", proven" : ""));
}

std::string memory_line(const SolveRun& run, const Solution& s) {
  const std::string peak = peak_text(run.peak, s.memory.device_peak >= 0, run.hosts);
  if (s.memory.needed == 0) return peak.empty() ? "" : line("MEMORY", peak);
  return line("MEMORY", fmt::format("{} needed a rank, {} free{}{}", gibibytes(s.memory.needed),
                                    gibibytes(s.memory.free), peak.empty() ? "" : "; ", peak));
}

double flops_of(const SolveRun& run) {
  // A complex operation is four real multiplications and additions.
  return static_cast<double>(parts_of(run.field) * parts_of(run.field)) *
         benchmark_flops(run.n, run.right_hand_sides);
}

std::string energy_lines(const SolveRun& run) {
  const EnergyReport& energy = run.sensors.energy;
  const std::string times = energy_times(energy);
  return line("ENERGY", energy_text(energy, flops_of(run))) +
         (times.empty() ? "" : line("", times)) + monitor_lines(run.sensors.monitors, {});
}

std::string total_lines(const SolveRun& run, const Solution& s) {
  std::string text = "\n";
  if (const double most = difference_from_ones(run, s); !std::isnan(most))
    text += line("ONES", fmt::format("x differs from them by at most {:.2e}", most));
  if (!std::isnan(s.condition))
    text += line("CONDITION", fmt::format("{}{:.2e}, estimated in the infinity norm{}",
                                          s.condition_at_least ? "at least " : "", s.condition,
                                          s.equilibrated ? ", of the scaled matrix" : ""));
  text += digits_line(s) + proof_line(s);
  text += memory_line(run, s);
  text += energy_lines(run);
  return text + line("TIME", fmt::format("{:.3f} s to get A, {:.3f} s to solve, {:.3f} s to check",
                                         s.load_seconds, s.seconds, s.check_seconds));
}

}  // namespace

bool is_solved_in_part(const SolveRun& run, const Solution& s) {
  const std::size_t missed = not_solved(s).size();
  return missed > 0 && missed < s.columns.size() && (!run.options.strict || s.doubt.empty());
}

bool is_failed_by_doubt(const SolveRun& run, const Solution& s) {
  return !run.failure.empty() && s.converged && !s.doubt.empty();
}

std::string verdict(const SolveRun& run, const Solution& s) {
  const std::string lost = unkept(run).empty() ? "" : "x is " + unkept(run);
  if (run.failure.empty())
    return fmt::format("solved{}; {}", s.doubt.empty() ? "" : ", with a doubt",
                       lost.empty() ? fmt::format("x is in '{}'", run.x) : lost);
  if (!is_solved_in_part(run, s)) return "NOT solved, x is not written: " + run.failure;
  const std::vector<std::size_t> missed = not_solved(s);
  std::string names;
  for (std::size_t i = 0; i < std::min(missed.size(), most_named); ++i)
    names += fmt::format("{}{}", i == 0 ? "" : ", ", missed[i] + 1);
  if (missed.size() > most_named) names += fmt::format(" and {} more", missed.size() - most_named);
  return fmt::format("{} of {} right-hand sides NOT solved ({}); {}", missed.size(),
                     s.columns.size(), names,
                     !lost.empty()        ? lost
                     : missed.size() == 1 ? fmt::format("its column in '{}' is NaN", run.x)
                                          : fmt::format("their columns in '{}' are NaN", run.x));
}

std::string solve_report(const SolveRun& run, const Solution& s) {
  std::string text = banner("A x = b: low-precision LU with partial pivoting, FP64 solution");
  text += given_lines(run, s);
  if (was_set_up(s)) text += machine_lines(run, s);
  text += list("Notes:", run.notes);
  if (!s.steps.empty()) text += step_lines(s) + error_lines(s);
  if (was_set_up(s)) text += total_lines(run, s);
  if (!s.doubt.empty()) text += "WARNING: " + s.doubt + "\n";
  for (const std::string& note : s.notes) text += "WARNING: " + note + "\n";
  return text.append(rule).append("\n").append(verdict(run, s)).append("\n");
}

ordered_json json_of_solution(const SolveRun& run, const Solution& s) {
  ordered_json document = json_origin("solve", run.begin, run.hosts, run.command_line);
  document.update({{"start", utc_text(run.begin)},
                   {"end", utc_text(run.end)},
                   {"A", run.a},
                   {"b", text_or_null(run.b)},
                   {"x", text_or_null(is_written(run, s) ? run.x : "")},
                   {"right_hand_sides", run.right_hand_sides},
                   {"ranks", run.hosts.size()},
                   {"asked", json_of_asked(run.options)},
                   {"tolerance", tolerance(run)}});
  if (was_set_up(s)) document.update(json_of_options(s.chosen));
  document.update(json_of(s));
  document.update({{"n", run.n},
                   {"complex", run.field == Field::complex},
                   {"solved", run.failure.empty()},
                   {"failure", text_or_null(run.failure)},
                   {"bad_pivot", index_or_null(run.bad_pivot)},
                   {"difference_from_ones", number_or_null(difference_from_ones(run, s))},
                   {"memory_peak", json_of(run.peak, run.hosts)},
                   {"energy", json_of(run.sensors.energy, flops_of(run))},
                   {"monitor", json_of_monitors(run.sensors.monitors)}});
  for (std::size_t i = 0; i < s.steps.size(); ++i)
    document["steps"][i]["fp64"] = s.steps[i].precision == Precision::fp64
                                       ? ordered_json(name(s.chosen.fp64))
                                       : ordered_json();
  for (const std::string& note : run.notes) document["notes"].push_back(note);
  return document;
}

}  // namespace speedwell
