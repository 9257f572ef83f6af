// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How good a solution is.
#pragma once

#include <lupine/solve.hpp>

#include "solve/factors.hpp"

namespace lupine {

/// The exponent of the power of two that b is divided by: the largest |r_i b_i| is in [1/2, 1)
/// then, R = diag(2^rows). 0 for b = 0.
int exponent_of(const Vector& b, const std::vector<int>& rows);

/// v_i 2^(exponents_i + shift): rounded only where that is beyond FP64's normal numbers.
Vector scaled(const Vector& v, const std::vector<int>& exponents, int shift);

/// A right-hand side's solution.
struct Answer {
  Vector x;  ///< whole, as the user's units are
  SolveColumn column;
  Vector y;               ///< of the scaled system, the rank's entries
  System::Errors errors;  ///< of y
};

/// Measures the solution of A x = b 2^-shift: y of the scaled system, the rank's entries. The
/// forward bound is left NaN. Collective. @param b whole, as given
Answer measured(System& system, const Equilibration& scales, int shift, const Vector& b,
                const RefineOutcome& outcome);

/// ||x - x*|| / ||x|| at most, as LAPACK's dgerfs estimates it, from y and the errors of the scaled
/// system. Collective.
double forward_bound(Factors& factors, const Equilibration& scales, const Vector& y,
                     const System::Errors& errors);

}  // namespace lupine
