// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The factors of one step of the solver: LU of a scaled copy of A in one precision.
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

/// The factors L and U of R A C, which is rounded to the storage precision (FP32 or FP64) of the
/// setup and factored with partial pivoting. Members refer to each other, so an object is neither
/// copied nor moved.
class Factors {
 public:
  /// Computes R A C, rounds it and factors it. Collective.
  /// @throws AgreedFault out of memory
  Factors(Transport& transport, const UserMatrix& a, const Equilibration& scales,
          const Setup& setup, const Clock& clock, const ColumnsDone& done);
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;

  const FactorOutcome& outcome() const { return outcome_; }
  /// Seconds of scaling and factoring, on this rank.
  double seconds() const { return seconds_; }
  /// Whether there is a bad pivot and it is exactly zero, not an Inf or NaN. Collective.
  bool zero_pivot();

  /// The scaled system R A C y = R b. @pre outcome().usable()
  System& system() {
    LUPINE_EXPECTS(outcome_.usable());
    return system_;
  }
  /// Refines y for the right-hand side that was given to system().set_b(). Collective.
  /// @pre outcome().usable()
  RefineOutcome refine(const RefineOptions& options) {
    LUPINE_EXPECTS(outcome_.usable());
    return lupine::refine(system_, *solver_, options, clock_);
  }
  /// The normwise backward error ||r|| / (||R A C|| ||y|| + ||R b||), r = R b - R A C y, in
  /// infinity norms. Collective.
  double normwise_error(const Vector& y, const System::Errors& errors);
  /// An estimate of the condition number ||R A C|| ||(R A C)^-1||, in infinity norms; computed in
  /// the first call. Infinity where the factors are too inaccurate for an estimate
  /// (Inverse::norm()). Collective. @pre outcome().usable()
  double condition();
  /// (R A C)^-1 by the factors. @pre outcome().usable()
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
  std::optional<double> norm_;  // ||R A C||
  std::optional<double> condition_;
};

}  // namespace lupine
