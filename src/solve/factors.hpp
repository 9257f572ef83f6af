// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One step of the solver: the factors of a scaled copy of A in one precision.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/expects.hpp"
#include "factor/lu.hpp"
#include "refine/inverse.hpp"
#include "refine/lu_solver.hpp"
#include "refine/refinement.hpp"
#include "refine/system.hpp"
#include "setup/plan.hpp"
#include "solve/equilibration.hpp"
#include "solve/user_matrix.hpp"
#include "transport/transport.hpp"

namespace lupine {

/// L\U of R A C, rounded to the storage of a setup's precision. Neither copied nor moved: its parts
/// know each other.
class Factors {
 public:
  /// Scales, rounds and factors. Collective. @throws AgreedFault out of memory
  Factors(Transport& transport, const UserMatrix& a, const Equilibration& scales,
          const Setup& setup, const Clock& clock, const ColumnsDone& done);
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;

  const FactorOutcome& outcome() const { return outcome_; }
  double seconds() const { return seconds_; }
  /// Whether the pivot that is not usable is exactly zero, not an overflow. Collective.
  bool zero_pivot();

  /// R A C y = R b with what solves it. @pre outcome().usable()
  System& system() {
    LUPINE_EXPECTS(outcome_.usable());
    return system_;
  }
  /// @pre outcome().usable()
  RefineOutcome refine(const RefineOptions& options) {
    LUPINE_EXPECTS(outcome_.usable());
    return lupine::refine(system_, *solver_, options, clock_);
  }
  /// ||r|| / (||R A C|| ||y|| + ||R b||). Collective.
  double normwise_error(const Vector& y, const System::Errors& errors);
  /// ||R A C|| ||(R A C)^-1||, estimated once; infinity where the factors are too weak to tell.
  /// Collective. @pre outcome().usable()
  double condition();
  /// @pre outcome().usable()
  Inverse& inverse() {
    LUPINE_EXPECTS(outcome_.usable());
    return *inverse_;
  }

 private:
  double norm();

  Transport& transport_;
  const Clock& clock_;
  DistributedMatrix lu_;
  System system_;
  FactorOutcome outcome_;
  double seconds_ = 0;
  std::optional<LuSolver> solver_;
  std::optional<Inverse> inverse_;
  std::optional<double> norm_;  // of R A C
  std::optional<double> condition_;
};

}  // namespace lupine
