// SPDX-License-Identifier: BSD-3-Clause
#include "solve/attempt.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/scalar.hpp"
#include "device/device.hpp"

namespace speedwell {

namespace {

constexpr double most_of_next = 0.6;   // a step may take this part of the next one's time
constexpr double most_sampled = 0.95;  // one of 16 bits, where a sample says that it will solve
constexpr double sure_below = 16;      // a step fails with a probability of kappa u over this
constexpr double panel_share = 0.25;   // a panel's rate, as a part of the product's
constexpr double most_condition = 50;  // times the unit roundoff
constexpr double fp64_bits = 53;
constexpr double pass_ratio = 20;  // of the rates of a product of matrices and of one with a vector
constexpr double of_vectors = 0.45;  // of a product's rate, by solves and residuals of many vectors
constexpr double more_accurate = 4;  // ratio of unit roundoffs that makes a step worth trying

// How much the roundings of an LU grow in its inverse: by a least, and by a part of the condition
// number. Those of 16 bits, which only the operands of products have, average out.
double growth(Precision precision, double condition) {
  const bool low = bytes_of(precision) == 2;
  const double least = low ? 2 : 16;
  return std::max(least, std::isnan(condition) ? 0 : condition / (low ? 256 : 16));
}

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
  for (const Precision p : {middle, low}) {
    const double most = p == low ? most_sampled : most_of_next;
    if (const Attempt cheaper = step(p); cheaper.seconds <= most * steps.front().seconds)
      steps.insert(steps.begin(), cheaper);
  }
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
  const double fp64 = each / rates.of(Precision::fp64);
  const bool few = count <= Device::few_vectors;
  const double pass = fp64 / static_cast<double>(count) * pass_ratio;
  if (precision == Precision::fp64) return few ? pass : fp64 / of_vectors;
  const double bits = -std::log2(unit_roundoff(precision) * growth(precision, condition));
  const double corrections = bits > 1 ? std::ceil(fp64_bits / bits) : fp64_bits;
  return corrections * (few ? 1.5 * pass : (each / rates.of(Precision::fp32) + fp64) / of_vectors);
}

std::vector<Attempt> attempts_worth_making(std::vector<Attempt> steps, const LuPlan& lu,
                                           const Rates& rates, std::int64_t count,
                                           double condition) {
  const auto seconds = [&](const Attempt& step) {
    return step.seconds + refine_seconds(lu, step.precision, rates, count, condition);
  };
  const auto pays = [&](const Attempt& step, const Attempt& next) {
    if (count > Device::few_vectors) return seconds(step) <= seconds(next);
    if (step.seconds <= most_of_next * next.seconds) return true;
    const double risk = std::min(condition * unit_roundoff(step.precision) / sure_below, 1.);
    return seconds(step) + risk * seconds(next) < seconds(next);  // false where nothing is known
  };
  while (steps.size() > 1 && !pays(steps[0], steps[1])) steps.erase(steps.begin());
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

}  // namespace speedwell
