// SPDX-License-Identifier: BSD-3-Clause
#include "solve/proofs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "core/numbers.hpp"

namespace speedwell {

double times_power(double v, int e) {
  if (e < -1022 || e > 1023) return std::ldexp(v, e);
  return v * std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
}

Vector scaled(std::span<const double> v, const std::vector<int>& exponents, int shift) {
  Vector result(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) result[i] = times_power(v[i], exponents[i] + shift);
  return result;
}

Accuracy accuracy_on(const Device& device, Accuracy asked) {
  if (asked != Accuracy::forward && asked != Accuracy::certified) return Accuracy::backward;
  if (!device.multiplies_extended())
    throw UsageError(fmt::format(
        "--accuracy {}: {} computes no residuals in twice FP64's precision; allowed there: auto, "
        "backward",
        name(asked), device.description()));
  return asked;
}

SolveProof announced_proof(std::int64_t n, Field field, Precision factors, bool whole,
                           const Rates& rates) {
  SolveProof proof;
  proof.operations = Certificate::operations(n, field, whole);
  // R is an inverse by the factors, and the rest products in FP64.
  const double of_inverse = Certificate::operations(n, field, true) / 2;
  const double solves = rates.measured(storage_for(factors));
  const double products = rates.measured(Precision::fp64);
  if (solves > 0 && products > 0)
    proof.expected_seconds = of_inverse / solves + (proof.operations - of_inverse) / products;
  return proof;
}

std::string why_no_proof(const Contraction& found) {
  if (found.is_shown()) return "";
  if (!found.to_nearest) return "threads of the BLAS do not round to nearest";
  const std::string why =
      !(found.rounding < 1)    ? fmt::format("the roundings of R A may be {:.2g}", found.rounding)
      : std::isnan(found.norm) ? fmt::format("it is about {:.2g}", found.predicted)
                               : fmt::format("it may be {:.2g}", found.norm);
  return "||I - R A|| could not be shown to be below 1: " + why;
}

void set_proven(Answer& answer, std::span<const double> y, std::span<const double> errors,
                const std::vector<int>& columns) {
  constexpr double normal = std::numeric_limits<double>::min();
  constexpr double roundings = 1 + 8 * eps;  // of the quotients and sums below
  Vector ratios(y.size());  // an infinite one, where a y_i is zero, is not lost by largest()
  for (std::size_t i = 0; i < y.size(); ++i)
    ratios[i] = errors[i] == 0 ? 0 : errors[i] / std::fabs(y[i]);
  double norm = largest(errors) == 0 ? 0 : std::numeric_limits<double>::infinity();
  if (answer.top) norm = (largest(scaled(errors, columns, -*answer.top)) + normal) / answer.size;
  SolveColumn& column = answer.column;
  column.certified = std::isfinite(norm * roundings);
  if (!column.certified) return;
  column.forward_bound = norm * roundings;
  column.componentwise_bound = largest(ratios) * roundings;
}

void tell_proof(Certificate* certificate, System& system, Transpose op, Solution& solution) {
  SolveProof& proof = solution.proof;
  if (certificate != nullptr) {
    const Contraction& found = certificate->contraction(system, op);
    proof.norm = found.norm;
    proof.products = found.products;
    proof.inverse = solution.precision();
  }
  if (std::ranges::all_of(solution.columns, &SolveColumn::certified)) return;
  for (SolveColumn& column : solution.columns)
    if (!column.certified) column.forward_bound = column.componentwise_bound = unknown;
  proof.why_none = certificate == nullptr ? "x is not accurate enough"
                                          : why_no_proof(certificate->contraction(system, op));
  if (proof.why_none.empty()) proof.why_none = "its numbers are near the ends of FP64's range";
  solution.doubt = fmt::format("no proof of the error of x: {}{}{}", proof.why_none,
                               solution.doubt.empty() ? "" : "; ", solution.doubt);
}

}  // namespace speedwell
