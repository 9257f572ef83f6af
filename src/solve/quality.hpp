// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The errors of a solution. Formulas and sources: docs/numerics.md.
#pragma once

#include <lupine/solve.hpp>

#include <functional>

#include "solve/factors.hpp"

namespace lupine {

/// The exponent e for which the largest |r_i b_i| 2^-e is in [1/2, 1), with r_i = 2^rows[i]; 0 if
/// b = 0. @param b whole
int exponent_of(const Vector& b, const std::vector<int>& rows);

/// v_i 2^(exponents_i + shift) for all i. The result is exact unless it is outside of FP64's normal
/// numbers.
Vector scaled(const Vector& v, const std::vector<int>& exponents, int shift);

/// The solution of one right-hand side, with its errors.
struct Answer {
  Vector x;  ///< solution of the given system, whole
  SolveColumn column;
  Vector y;               ///< solution of the scaled system, along columns
  System::Errors errors;  ///< residual and bound of y
};

/// x = C y 2^shift and its errors, where y solves (R A C) y = R b 2^-shift. column.forward_bound is
/// NaN. Collective.
/// @param b whole, as the user gave it
/// @param outcome the refinement that found y
Answer measured(System& system, const Equilibration& scales, int shift, const Vector& b,
                const RefineOutcome& outcome);

/// Estimates || diag(left) (R A C)^-1 diag(right) || in the infinity norm; no weight is below 0.
using WeightedInverseNorm = std::function<double(const Vector& left, const Vector& right)>;

/// An estimated bound of the forward error ||x - x*|| / ||x||, where x* is the exact solution and
/// norms are infinity norms. It is computed as in LAPACK's dgerfs:
///     || C |(R A C)^-1| f || / ||C y||,  f = |r| + (n + 1) eps (|R A C| |y| + |R b|).
/// Collective. @param y,errors solution of the scaled system, and its errors
double forward_bound(const System& system, const WeightedInverseNorm& inverse_norm,
                     const Equilibration& scales, const Vector& y, const System::Errors& errors);
double forward_bound(Factors& factors, const Equilibration& scales, const Vector& y,
                     const System::Errors& errors);

}  // namespace lupine
