// SPDX-License-Identifier: BSD-3-Clause
#include "solve/factored_system.hpp"

#include <utility>

namespace lupine {

FactoredSystem& FactoredSystem::of(Transpose transpose) {
  if (transpose == Transpose::no) return *this;
  if (!transposed_)
    transposed_ = std::make_unique<FactoredSystem>(
        device_, system_.transposed(), std::make_unique<TransposedSolver>(*solver_), exact_);
  return *transposed_;
}

ResidualSketch& FactoredSystem::sketch() {
  if (!sketch_) sketch_ = std::make_unique<ResidualSketch>(system_, device_);
  return *sketch_;
}

double FactoredSystem::normwise_error(std::span<const double> y, std::span<const double> b,
                                      std::span<const double> r) {
  const SystemNorms norms = system_.norms(y, b, r);
  return norms.residual == 0 ? 0 : norms.residual / (system_.scaled_norm() * norms.x + norms.b);
}

const ConditionEstimate& FactoredSystem::condition() {
  if (!condition_) weighted_norms({});
  return *condition_;
}

std::optional<std::vector<double>> FactoredSystem::weighted_norms(std::vector<Weights> weights) {
  const bool known = condition_.has_value();
  const Vector ones(static_cast<std::size_t>(system_.n()), 1.0);
  if (!known) weights.push_back({ones, ones});
  std::optional<std::vector<double>> norms = inverse_.norms(weights);
  if (known) return norms;
  const double norm = system_.scaled_norm();
  if (norms) {
    condition_ = ConditionEstimate{norm * norms->back(), false};
    norms->pop_back();
  } else {
    condition_ = ConditionEstimate{norm * inverse_.norm_at_least(), true};
  }
  return norms;
}

}  // namespace lupine
