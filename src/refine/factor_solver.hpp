// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Solves with the factors of a matrix, as the refinement sees them.
#pragma once

#include "refine/vectors.hpp"

namespace speedwell {

/// M = (L U)^-1 P for the factors of some matrix. All members are collective. A vector with an Inf
/// or NaN does not change the others.
class FactorSolver {
 public:
  virtual ~FactorSolver() = default;
  /// D = M R. @param r along rows; @return D along columns
  virtual MultiVector solve(const MultiVector& r) = 0;
  /// D = M^T R. @param r along columns; @return D along rows
  virtual MultiVector solve_transposed(const MultiVector& r) = 0;

  /// The same for one vector.
  Vector solve(const Vector& r) { return solve(MultiVector(r)).only(); }
  Vector solve_transposed(const Vector& r) { return solve_transposed(MultiVector(r)).only(); }
};

/// Solves with the factors of A^T, which are those of A: M^T takes the place of M, and rows and
/// columns exchange their roles.
class TransposedSolver final : public FactorSolver {
 public:
  explicit TransposedSolver(FactorSolver& of_a) : of_a_(of_a) {}
  MultiVector solve(const MultiVector& r) override { return of_a_.solve_transposed(r); }
  MultiVector solve_transposed(const MultiVector& r) override { return of_a_.solve(r); }

 private:
  FactorSolver& of_a_;
};

}  // namespace speedwell
