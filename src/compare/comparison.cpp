// SPDX-License-Identifier: BSD-3-Clause
#include "compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/expects.hpp"
#include "core/option_text.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

std::string_view solver_name(SolverKind solver, Field field) {
  if (field == Field::real) return name(solver);
  switch (solver) {
    case SolverKind::dgesv:
      return "zgesv";
    case SolverKind::dsgesv:
      return "zcgesv";
    case SolverKind::dgesvx:
      return "zgesvx";
    case SolverKind::dgesvxx:
      return "zgesvxx";
    default:
      return name(solver);
  }
}

std::string title(const ComparedSolver& entry) {
  if (entry.level)
    return entry.level == Level::fp64
               ? std::string(traits(Level::fp64).name)
               : fmt::format("{} {}", traits(*entry.level).name, name(entry.precision));
  if (entry.accuracy) return fmt::format("{} {}", name(entry.solver), option_text(*entry.accuracy));
  return entry.solver == SolverKind::mxp
             ? fmt::format("{} {}", name(entry.solver), name(entry.precision))
             : std::string(solver_name(entry.solver, entry.field));
}

Statistics statistics(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {values.back(), median};
}

bool ComparedSolver::passed() const {
  if (!skipped.empty()) return true;
  return !turns.empty() &&
         std::all_of(turns.begin(), turns.end(), [](const Turn& turn) { return turn.passed(); });
}

bool Comparison::passed() const {
  const auto counts = [](const Turn& turn) { return turn.passed() || turn.level || turn.accuracy; };
  return std::ranges::all_of(solvers, [&](const ComparedSolver& one) {
    return one.passed() || (!one.turns.empty() && std::ranges::all_of(one.turns, counts));
  });
}

// A complex operation is four real multiplications and additions.
double Comparison::flops() const {
  return static_cast<double>(parts_of(field()) * parts_of(field())) * benchmark_flops(n, rhs);
}

std::vector<double> rates(const ComparedSolver& entry, const Comparison& all) {
  std::vector<double> values;
  if (!entry.passed()) return values;
  const double flops = all.flops();
  for (const Turn& turn : entry.turns) values.push_back(flops / turn.seconds / 1e9);
  return values;
}

double median_seconds(const ComparedSolver& entry) {
  std::vector<double> all;
  if (!entry.passed()) return 0;
  for (const Turn& turn : entry.turns) all.push_back(turn.seconds);
  return statistics(std::move(all)).median;
}

double ratio_to_dgesv(const ComparedSolver& entry, const Comparison& all) {
  const double rate = statistics(rates(entry, all)).best;
  double dgesv = 0;
  for (const ComparedSolver& other : all.solvers)
    if (other.solver == SolverKind::dgesv)
      dgesv = std::max(dgesv, statistics(rates(other, all)).best);
  return dgesv > 0 ? rate / dgesv : 0;
}

double share_of_ceiling(const ComparedSolver& entry, const Comparison& all) {
  const auto ceiling = std::find_if(all.ceilings.begin(), all.ceilings.end(),
                                    [&](const Ceiling& one) { return one.name == entry.ceiling; });
  if (ceiling == all.ceilings.end()) return 0;
  const double a_rank = statistics(ceiling->rates).best / ceiling->ranks;
  const double rate = statistics(rates(entry, all)).best;
  return a_rank > 0 ? rate / (a_rank * entry.ranks) : 0;
}

double digits(double error) {
  constexpr double most = 16;  // of FP64, also where the error is zero
  return error > 0 ? std::clamp(-std::log10(error), 0., most) : most;
}

double known_error(const Turn& turn) {
  if (turn.level) return turn.level->error;
  return turn.accuracy ? turn.accuracy->error : unknown;
}

const Turn& fastest_turn(const ComparedSolver& entry) {
  SPEEDWELL_EXPECTS(!entry.turns.empty());
  return *std::min_element(entry.turns.begin(), entry.turns.end(),
                           [](const Turn& a, const Turn& b) { return a.seconds < b.seconds; });
}

double refinement_share(const ComparedSolver& entry) {
  if (entry.turns.empty()) return unknown;
  const Turn& turn = fastest_turn(entry);
  return turn.refine_seconds / turn.seconds;
}

double check_share(const ComparedSolver& entry) {
  if (entry.turns.empty()) return unknown;
  const Turn& turn = fastest_turn(entry);
  return turn.check_seconds / turn.seconds;
}

double rate_over_run(std::span<const ShapeRate> shapes) {
  double work = 0;
  double time = 0;
  for (const ShapeRate& shape : shapes) {
    work += shape.weight;
    time += shape.weight / shape.rate;
  }
  return time > 0 ? work / time : 0;
}

}  // namespace speedwell
