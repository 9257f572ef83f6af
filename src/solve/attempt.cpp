// SPDX-License-Identifier: BSD-3-Clause
#include "solve/attempt.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/scalar.hpp"

namespace lupine {

namespace {

constexpr double most_of_next = 0.6;   // a step may take this part of the next one's time
constexpr double panel_share = 0.25;   // a panel's rate, as a part of the product's
constexpr double most_condition = 50;  // times the unit roundoff
constexpr double least_growth = 16;    // of the roundings of an LU
constexpr double fp64_bits = 53;
constexpr double more_accurate = 4;  // ratio of unit roundoffs that makes a step worth trying

}  // namespace

double lu_seconds(const LuPlan& lu, Precision precision, const Rates& rates) {
  const auto n = static_cast<double>(lu.n);
  // A product of complex numbers is four of real ones.
  const auto products = static_cast<double>(lu.parts() * lu.parts());
  const double updates = products * 2. / 3 * n * n * n / rates.of(precision);
  if (lu.overlaps) return updates;
  const double panel_rate = panel_share * rates.of(storage_for(precision)) / lu.grid.npcol;
  return updates + products * n * n * static_cast<double>(lu.nb) / 2 / panel_rate;
}

std::vector<Attempt> worthwhile_attempts(const LuPlan& lu, const Rates& rates, Precision first) {
  const auto step = [&](Precision p) { return Attempt{p, lu_seconds(lu, p, rates)}; };
  constexpr std::array of_16_bits{Precision::bf16, Precision::fp16};
  constexpr std::array between{Precision::fp16x3, Precision::fp32};
  const Precision low = rates.among(of_16_bits).fastest();
  const Precision middle = rates.among(between).fastest();
  std::vector<Attempt> steps{step(Precision::fp64)};
  for (const Precision p : {middle, low})
    if (const Attempt cheaper = step(p); cheaper.seconds <= most_of_next * steps.front().seconds)
      steps.insert(steps.begin(), cheaper);
  if (first == Precision::automatic) return steps;
  std::erase_if(steps, [&](const Attempt& s) {
    return more_accurate * unit_roundoff(s.precision) >= unit_roundoff(first);
  });
  steps.insert(steps.begin(), step(first));
  return steps;
}

double refine_seconds(const LuPlan& lu, Precision precision, const Rates& rates, std::int64_t count,
                      double condition) {
  const auto n = static_cast<double>(lu.n);
  const double each =
      static_cast<double>(lu.parts() * lu.parts()) * 2 * n * n * static_cast<double>(count);
  if (precision == Precision::fp64) return each / rates.of(Precision::fp64);
  const double growth =
      std::max(least_growth, std::isnan(condition) ? 0 : condition / least_growth);
  const double bits = -std::log2(unit_roundoff(precision) * growth);
  const double corrections = bits > 1 ? std::ceil(fp64_bits / bits) : fp64_bits;
  return corrections * each * (1 / rates.of(Precision::fp32) + 1 / rates.of(Precision::fp64));
}

std::vector<Attempt> attempts_worth_making(std::vector<Attempt> steps, const LuPlan& lu,
                                           const Rates& rates, std::int64_t count,
                                           double condition) {
  const auto seconds = [&](const Attempt& step) {
    return step.seconds + refine_seconds(lu, step.precision, rates, count, condition);
  };
  while (steps.size() > 1 && seconds(steps[0]) > seconds(steps[1])) steps.erase(steps.begin());
  return steps;
}

bool is_hopeless(Precision precision, double condition) {
  return condition * unit_roundoff(precision) > most_condition;
}

double refining_bytes(std::int64_t rows, std::int64_t columns) {
  constexpr double vectors = 10;  // along rows and along columns
  return vectors * sizeof(double) * static_cast<double>(rows + columns);
}

std::int64_t most_refined(std::int64_t rows, std::int64_t columns) {
  constexpr double room = 64e6;
  constexpr double pay = 512;
  const double part = static_cast<double>(rows) * static_cast<double>(columns) * sizeof(double);
  const double fit = (part + room) / std::max(refining_bytes(rows, columns), 1.0);
  return static_cast<std::int64_t>(std::clamp(fit, 1.0, pay));
}

}  // namespace lupine
