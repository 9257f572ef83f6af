// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// GMRES, for the refinement and for products with A^-1. See also docs/numerics.md.
#pragma once

#include <functional>
#include <span>

#include "refine/vectors.hpp"

namespace lupine {

/// The result of one cycle.
struct GmresCycle {
  Vector correction;    ///< d
  int steps = 0;        ///< products with B
  double residual = 1;  ///< ||z - B d|| / ||z||, by recurrence: |g_last| of the rotated problem
};

/// One cycle of GMRES for B d = z, starting from d = 0: Arnoldi with classical Gram-Schmidt done
/// twice, and Givens rotations. It ends after `restart` steps, or when ||z - B d|| <= tolerance
/// ||z|| (2-norms). Y. Saad and M. H. Schultz, "GMRES: A generalized minimal residual algorithm for
/// solving nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 7 (1986). Collective.
/// @param apply v -> B v
/// @param goes_on is given ||z - B d|| / ||z|| after 0, 1, 2, ... steps, and ends the cycle by
///        returning false, on every rank; empty: it never does
GmresCycle gmres_cycle(const VectorSpace& space, const std::function<Vector(const Vector&)>& apply,
                       const Vector& z, int restart, double tolerance,
                       const std::function<bool(std::span<const double>)>& goes_on = {});

}  // namespace lupine
