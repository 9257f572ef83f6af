// SPDX-License-Identifier: BSD-3-Clause
#include "solve/factored_system.hpp"

#include <utility>

namespace speedwell {

FactoredSystem& FactoredSystem::of(Transpose transpose) {
  if (transpose == Transpose::no) return *this;
  if (!transposed_)
    transposed_ = std::make_unique<FactoredSystem>(
        device_, system_.transposed(), std::make_unique<TransposedSolver>(*solver_), error_, seed_);
  return *transposed_;
}

ResidualSketch& FactoredSystem::sketch() {
  if (!sketch_) sketch_ = std::make_unique<ResidualSketch>(system_, device_, seed_);
  return *sketch_;
}

double FactoredSystem::normwise_error(std::span<const double> y, std::span<const double> b,
                                      std::span<const double> r) {
  const SystemNorms norms = system_.norms(y, b, r);
  return norms.residual == 0 ? 0 : norms.residual / (system_.scaled_norm() * norms.x + norms.b);
}

}  // namespace speedwell
