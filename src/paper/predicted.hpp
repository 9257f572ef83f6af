// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Predictions of a list of runs, without their reports.
#pragma once

#include <speedwell/benchmark.hpp>
#include <speedwell/options.hpp>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/clock.hpp"
#include "paper/world.hpp"

namespace speedwell::paper {

/// A run to predict.
struct Case {
  Scenario scenario;
  BenchmarkOptions options;
  /// Only the LU, from samples of its steps: the first ones of factorizations of order n and n/3,
  /// whose rates r give the time n^3 (1 / (2 r(n)) + 1 / (6 r(n/3))) (docs/numerics.md). A matrix
  /// of few steps is predicted as a whole.
  bool sampled = false;
};

/// The times of a simulated run.
struct Predicted {
  BenchmarkOptions chosen;  ///< with Speedwell's choice for each that was left open
  double seconds = 0;       ///< factorization and refinement; of samples: the factorization alone
  double lu_seconds = 0;
  double refine_seconds = 0;
  double gflops = 0;  ///< (2/3 n^3 + 3/2 n^2) / seconds / 1e9
  PhaseTime panel, rows, broadcast, update, solves, residuals;
  std::int64_t panel_width = 0;  ///< columns of a step
  bool sampled = false;
  std::string refusal;  ///< not empty: in one line, why this run is not possible
};

/// Predicts cases, in their order.
using Predict = std::function<std::vector<Predicted>(std::span<const Case> cases)>;

/// Predicts each case in a process of its own, at most `processes` at a time, those with most ranks
/// first. The process must have no other thread.
/// @pre processes >= 1
/// @throws Fault that names the case whose process died or failed
std::vector<Predicted> predict_all(std::span<const Case> cases, int processes);

/// The time outside of simulations, where SteadyClock gives the simulated time.
class RealClock final : public Clock {
 public:
  double now() const override;
};

}  // namespace speedwell::paper
