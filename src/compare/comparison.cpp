// SPDX-License-Identifier: BSD-3-Clause
#include "compare/comparison.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/option_text.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

bool ComparedSolver::passed() const {
  return !turns.empty() && std::ranges::all_of(turns, &Turn::passed);
}

const Turn* ComparedSolver::fastest() const {
  const auto found = std::ranges::min_element(turns, {}, &Turn::seconds);
  return found == turns.end() ? nullptr : &*found;
}

std::string_view solver_name(const ComparedSolver& entry) {
  const SolverTraits& solver = traits(entry.solver);
  const bool is_complex = entry.field == Field::complex && solver.lapack;
  return is_complex ? solver.complex_name : solver.name;
}

std::string label(const ComparedSolver& entry) {
  if (entry.level) return std::string(traits(*entry.level).name);
  if (entry.accuracy) return fmt::format("{} {}", solver_name(entry), option_text(*entry.accuracy));
  return std::string(solver_name(entry));
}

std::string title(const ComparedSolver& entry) {
  const bool several = entry.level ? entry.level != Level::fp64 : entry.solver == SolverKind::mxp;
  return several ? fmt::format("{} {}", label(entry), name(entry.precision)) : label(entry);
}

bool Comparison::passed() const {
  const auto counts = [](const Turn& turn) { return turn.passed() || turn.x_is_known; };
  return std::ranges::all_of(solvers, [&](const ComparedSolver& one) {
    return !one.skipped.empty() || (!one.turns.empty() && std::ranges::all_of(one.turns, counts));
  });
}

// A complex operation is four real multiplications and additions.
double Comparison::flops() const {
  return static_cast<double>(parts_of(field()) * parts_of(field())) * benchmark_flops(n, rhs);
}

double median(std::vector<double> values) {
  if (values.empty()) return unknown;
  std::ranges::sort(values);
  return (values[(values.size() - 1) / 2] + values[values.size() / 2]) / 2;
}

double best_seconds(const ComparedSolver& entry) {
  return entry.passed() ? entry.fastest()->seconds : unknown;
}

double median_seconds(const ComparedSolver& entry) {
  std::vector<double> all;
  if (entry.passed())
    for (const Turn& turn : entry.turns) all.push_back(turn.seconds);
  return median(std::move(all));
}

double ratio_to_dgesv(const ComparedSolver& entry, const Comparison& all) {
  const auto dgesv = std::ranges::find(all.solvers, SolverKind::dgesv, &ComparedSolver::solver);
  return dgesv == all.solvers.end() ? unknown : best_seconds(*dgesv) / best_seconds(entry);
}

double share_of_ceiling(const ComparedSolver& entry, const Comparison& all) {
  const auto ceiling = std::ranges::find(all.ceilings, entry.ceiling, &Ceiling::name);
  if (ceiling == all.ceilings.end() || ceiling->rates.empty()) return unknown;
  const double a_rank = std::ranges::max(ceiling->rates) / ceiling->ranks;
  return all.flops() / best_seconds(entry) / 1e9 / (a_rank * entry.ranks);
}

double digits(double error) {
  if (std::isnan(error)) return unknown;
  constexpr double most = 16;  // of FP64, also where the error is zero
  return error > 0 ? std::clamp(-std::log10(error), 0., most) : most;
}

}  // namespace speedwell
