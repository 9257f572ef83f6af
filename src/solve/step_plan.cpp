// SPDX-License-Identifier: BSD-3-Clause
#include "solve/step_plan.hpp"

#include <algorithm>
#include <array>

#include "core/scalar.hpp"

namespace lupine {

namespace {

constexpr double most_of_next = 0.6;   // a step may take this part of the next one's time
constexpr double panel_share = 0.25;   // a panel's rate, as a part of the product's
constexpr double most_condition = 50;  // times the unit roundoff
constexpr double more_accurate = 4;    // ratio of unit roundoffs that makes a step worth trying

}  // namespace

double lu_seconds(const LuProblem& problem, Precision precision, const Rates& rates) {
  const auto n = static_cast<double>(problem.n);
  const double updates = 2. / 3 * n * n * n / rates.of(precision);
  if (problem.overlaps) return updates;
  const double panel_rate = panel_share * rates.of(storage_for(precision)) / problem.shape.npcol;
  return updates + n * n * static_cast<double>(problem.nb) / 2 / panel_rate;
}

std::vector<PlannedStep> planned_steps(const LuProblem& problem, const Rates& rates,
                                       Precision first) {
  const auto step = [&](Precision p) { return PlannedStep{p, lu_seconds(problem, p, rates)}; };
  constexpr std::array of_16_bits{Precision::bf16, Precision::fp16};
  constexpr std::array between{Precision::fp16x3, Precision::fp32};
  const Precision low = rates.among(of_16_bits).fastest();
  const Precision middle = rates.among(between).fastest();
  std::vector<PlannedStep> steps{step(Precision::fp64)};
  for (const Precision p : {middle, low})
    if (const PlannedStep cheaper = step(p);
        cheaper.seconds <= most_of_next * steps.front().seconds)
      steps.insert(steps.begin(), cheaper);
  if (first == Precision::automatic) return steps;
  std::erase_if(steps, [&](const PlannedStep& s) {
    return more_accurate * unit_roundoff(s.precision) >= unit_roundoff(first);
  });
  steps.insert(steps.begin(), step(first));
  return steps;
}

bool is_hopeless(Precision precision, double condition) {
  return condition * unit_roundoff(precision) > most_condition;
}

}  // namespace lupine
