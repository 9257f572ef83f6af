// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A scaled system with factors of its matrix, and the system with the transpose: the estimates
/// that need both.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "core/numbers.hpp"
#include "refine/factor_solver.hpp"
#include "refine/inverse.hpp"
#include "refine/residual_sketch.hpp"
#include "refine/system.hpp"

namespace speedwell {

/// The scaled system (R A C) y = R b, with factors of R A C. Members are collective and refer to
/// each other, so an object is neither copied nor moved.
class FactoredSystem {
 public:
  /// @param error of the factors that `solver` has
  /// @param seed of the random vectors with which they and solutions are judged
  FactoredSystem(Device& device, System system, std::unique_ptr<FactorSolver> solver,
                 FactorError error, std::uint64_t seed)
      : device_(device),
        system_(std::move(system)),
        solver_(std::move(solver)),
        inverse_(system_, *solver_, error, seed),
        error_(error),
        seed_(seed) {}
  /// This system, or the one with the transpose of its matrix and the same factors, which is made
  /// in the first call: for a matrix that is held in memory. Not collective.
  FactoredSystem& of(Transpose transpose);

  FactoredSystem(const FactoredSystem&) = delete;
  FactoredSystem& operator=(const FactoredSystem&) = delete;

  System& system() { return system_; }
  FactorSolver& solver() { return *solver_; }
  /// Whether the factors are FP64.
  bool exact() const { return error_.roundoff == eps; }
  const FactorError& factor_error() const { return error_; }
  /// Estimates of normwise backward errors of many vectors; made in the first call.
  ResidualSketch& sketch();
  /// The normwise backward error ||r|| / (||R A C|| ||y|| + ||R b||) in infinity norms.
  double normwise_error(std::span<const double> y, std::span<const double> b,
                        std::span<const double> r);
  /// ||R A C|| ||(R A C)^-1|| in infinity norms, and estimates of weighted norms of (R A C)^-1.
  Inverse& inverse() { return inverse_; }

 private:
  Device& device_;
  System system_;
  std::unique_ptr<FactorSolver> solver_;
  Inverse inverse_;
  FactorError error_;
  std::uint64_t seed_;
  std::unique_ptr<ResidualSketch> sketch_;
  std::unique_ptr<FactoredSystem> transposed_;
};

}  // namespace speedwell
