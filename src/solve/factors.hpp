// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The factors of one step of the solver: LU of a scaled copy of A in one precision.
#pragma once

#include <cstdint>
#include <memory>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "factor/lu.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/certificate.hpp"
#include "solve/factored_system.hpp"
#include "solve/scaled_matrix.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// The factors L and U of R A C, which is rounded to the storage precision of the plan and factored
/// with partial pivoting. Members refer to each other, so an object is neither copied nor moved.
class Factors {
 public:
  /// Rounds R A C and factors it. Collective. @param rotations the number, from 1, of the
  /// rotations that it gets before (see RotatedSolver), in FP64 only; 0: none
  /// @param seed of rotations, and of the random vectors that judge the factors
  /// @throws AgreedFault out of memory
  Factors(Transport& transport, const ScaledMatrix& a, const LuPlan& plan, int rotations,
          std::uint64_t seed, const ColumnsDone& done);
  Factors(const Factors&) = delete;
  Factors& operator=(const Factors&) = delete;

  const FactorOutcome& outcome() const { return outcome_; }
  /// The factors; unspecified where the outcome is not usable.
  const DistributedMatrix& lu() const { return lu_; }
  /// Seconds of scaling and factoring, on this rank.
  double seconds() const { return seconds_; }
  /// max |u_ij| / max |a_ij| of R A C, as far as it was factored; infinity if one is not finite;
  /// NaN for factors stored in 16 bits.
  double growth() const { return growth_; }
  /// Whether there is a bad pivot and it is exactly zero, not an Inf or NaN. Collective.
  /// @pre the factors are FP32 or FP64
  bool zero_pivot();

  /// The scaled system (R A C) y = R b or (C A^T R) y = C b with these factors.
  /// @pre outcome().usable()
  FactoredSystem& factored(Transpose transpose) {
    SPEEDWELL_EXPECTS(outcome_.usable());
    return factored_->of(transpose);
  }
  /// Proofs with an inverse by these factors, made in the first call; for a process alone.
  /// @pre outcome().usable()
  Certificate& certificate();
  /// The same if it is there, else null.
  Certificate* made_certificate() { return certificate_.get(); }

 private:
  double measured_growth(double largest) const;

  Transport& transport_;
  const ScaledMatrix& scaled_;
  Precision precision_;
  DistributedMatrix lu_;
  FactorOutcome outcome_;
  double seconds_ = 0;
  double growth_ = unknown;
  std::unique_ptr<FactoredSystem> factored_;  // null: the factors are not usable
  std::unique_ptr<Certificate> certificate_;
};

}  // namespace speedwell
