// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The list of what a solve found, with names. JSON and Python's info are made from this list.
///
/// Each function unpacks its whole struct, so a new field does not compile until it is listed here.
/// What is missing is an empty text, an empty optional, or a number that is not finite.
#pragma once

#include <speedwell/solution.hpp>

#include <cstdint>
#include <optional>

namespace speedwell {

/// The index; nothing if it is negative.
inline std::optional<std::int64_t> known_index(std::int64_t value) {
  return value < 0 ? std::nullopt : std::optional(value);
}

template <class Visit>
void for_each_field(const SolveStep& step, const Visit& visit) {
  const auto& [precision, solved, why, factor_seconds, refine_seconds, iterations, bad_pivot,
               growth, rotated] = step;
  visit("precision", precision);
  visit("solved", solved);
  visit("why", why);
  visit("factor_seconds", factor_seconds);
  visit("refine_seconds", refine_seconds);
  visit("iterations", iterations);
  visit("bad_pivot", known_index(bad_pivot));
  visit("growth", growth);
  visit("rotated", rotated);
}

template <class Visit>
void for_each_field(const SolveColumn& column, const Visit& visit) {
  const auto& [precision, method, iterations, converged, hpl_residual, backward_error,
               componentwise_error, forward_bound, why, accurate, componentwise_bound, certified] =
      column;
  visit("precision", precision);
  visit("method", method);
  visit("iterations", iterations);
  visit("converged", converged);
  visit("componentwise_error", componentwise_error);
  visit("backward_error", backward_error);
  visit("hpl_residual", hpl_residual);
  visit("forward_bound", forward_bound);
  visit("accurate", accurate);
  visit("componentwise_bound", componentwise_bound);
  visit("certified", certified);
  visit("why", why);
}

/// Memory that is announced; the peak is measured by the command alone.
template <class Visit>
void for_each_field(const SolveMemory& memory, const Visit& visit) {
  const auto bytes = [](double value) {
    return value == 0 ? std::nullopt : std::optional(static_cast<std::int64_t>(value));
  };
  visit("needed_per_rank_bytes", bytes(memory.needed));
  visit("free_per_rank_bytes", bytes(memory.free));
}

template <class Visit>
void for_each_field(const SolveProof& proof, const Visit& visit) {
  const auto& [operations, expected_seconds, seconds, inverse, products, norm, why_none] = proof;
  const auto known = [](Precision p) {
    return p == Precision::automatic ? std::nullopt : std::optional(p);
  };
  const auto positive = [](double v) { return v > 0 ? std::optional(v) : std::nullopt; };
  visit("operations", positive(operations));
  visit("expected_seconds", positive(expected_seconds));
  visit("seconds", seconds);
  visit("inverse", known(inverse));
  visit("products", known(products));
  visit("norm", norm);
  visit("why_none", why_none);
}

/// All but x, and the options that were chosen.
template <class Visit>
void for_each_field(const Solution& s, const Visit& visit) {
  const auto& [x, n, steps, columns, converged, norm_a, condition, condition_at_least, equilibrated,
               load_seconds, seconds, check_seconds, doubt, notes, chosen, reason, device,
               fp64_products, panel_width, memory, accuracy, proof, accuracy_reason, probe_seed] =
      s;
  visit("n", n);
  visit("precision", steps.empty() ? std::nullopt : std::optional(s.precision()));
  visit("reason", reason);
  visit("converged", converged);
  visit("doubt", doubt);
  visit("accuracy", accuracy);
  visit("accuracy_reason", accuracy_reason);
  visit("equilibrated", equilibrated);
  visit("norm_a", norm_a);
  visit("condition", condition);
  visit("condition_at_least", condition_at_least);
  visit("load_seconds", load_seconds);
  visit("seconds", seconds);
  visit("check_seconds", check_seconds);
  visit("probe_seed", probe_seed);
  visit("panel_width", panel_width > 0 ? std::optional(panel_width) : std::nullopt);
  visit("device_description", device);
  visit("fp64_products", fp64_products);
  visit("memory", memory);
  visit("proof", proof);
  visit("steps", steps);
  visit("columns", columns);
  visit("notes", notes);
}

template <class Result>
concept HasFields = requires(const Result& result) {
  for_each_field(result, [](const char*, const auto&) {});
};

}  // namespace speedwell
