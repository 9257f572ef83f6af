// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the steps of a solver of a user's system cost on a simulated machine: the LU of A with
/// partial pivoting in each precision, and the corrections of x with its factors.
#pragma once

#include <speedwell/options.hpp>

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/scalar.hpp"
#include "grid/lu_plan.hpp"
#include "paper/world.hpp"

namespace speedwell::paper {

/// A system of which only sizes are known.
struct SystemSizes {
  std::int64_t n = 0;  ///< order of A
  std::int64_t right_hand_sides = 1;
  Field field = Field::real;  ///< of A and b
};

/// The cost of a step. Where it was refused, only `precision` and `refusal` are set.
struct StepCost {
  Precision precision = Precision::automatic;
  LuPlan lu{};
  double memory = 0;              ///< bytes of a rank, A in FP64 among them
  double lu_seconds = 0;          ///< rounding A and factoring it
  double correction_seconds = 0;  ///< a solve with the factors and a residual of all x
  std::string refusal{};          ///< not empty: in one line, why this step is not possible

  double lu_gflops() const;
  double seconds(int corrections) const { return lu_seconds + corrections * correction_seconds; }
};

/// The precisions for whose products the scenario's device has rates; updates in others are
/// emulated by FP32's products.
std::vector<Precision> precisions_of(const Scenario& scenario);

/// The costs of the steps in these precisions, equal on every rank. Call it as every rank.
std::vector<StepCost> step_costs(const SystemSizes& sizes, const RunOptions& run,
                                 const std::vector<Precision>& precisions);

std::string step_text(const Scenario& scenario, const SystemSizes& sizes,
                      const std::vector<StepCost>& steps);
nlohmann::ordered_json step_json(const Scenario& scenario, const SystemSizes& sizes,
                                 const std::vector<StepCost>& steps);

}  // namespace speedwell::paper
