// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The interface behind a Factorization: one matrix, factored once, with many solutions.
#pragma once

#include <speedwell/matrix.hpp>
#include <speedwell/progress.hpp>
#include <speedwell/solution.hpp>

#include <cstdint>

#include "comm/communicator.hpp"

namespace speedwell {

/// All members but n(), all() and precision() are collective over all(), and throw what
/// Factorization throws.
class Solver {
 public:
  virtual ~Solver() = default;
  virtual std::int64_t n() const = 0;
  virtual const Communicator& all() const = 0;
  /// Checks b, its values included, before A is loaded. @throws UsageError
  virtual void check(const RightHandSideSource& b) = 0;
  /// Loads A, and factors it in the first step whose factors are usable.
  virtual void factor() = 0;
  /// Solves A x = b, A^T x = b or A^H x = b with the present factors, or with those of a later
  /// step.
  virtual Solution solve(const RightHandSideSource& b, Transpose transpose) = 0;
  /// That of the present factors; automatic where there are none. Not collective.
  virtual Precision precision() const = 0;
  /// Of the scaled A or A^T, by the present factors.
  virtual ConditionEstimate condition(Transpose transpose) = 0;
  /// That of A, by FP64 factors, which the call makes where there are none.
  virtual Determinant determinant() = 0;
};

/// As speedwell::solve().
/// @param around watched where the program's ranks come to this call together; none where they may
///        come at any time, as in a user's program: then no rank is called stalled before all are
///        here
Solution solve(CommHandle comm, const Matrix& a, const RightHandSide& b,
               const SolveOptions& options, const ProgressFunction& progress,
               const InterruptFunction& interrupt, const RunContext& around);

}  // namespace speedwell
