// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// GMRES.
#pragma once

#include <functional>

#include "refine/vectors.hpp"

namespace lupine {

/// What one cycle found.
struct GmresCycle {
  Vector correction;
  int steps = 0;
  double residual = 1;  ///< ||z - B d|| / ||z||, by recurrence
};

/// One cycle of GMRES on B d = z from d = 0: Arnoldi with classical Gram-Schmidt done twice, Givens
/// rotations; ends after `restart` steps or when ||z - B d|| <= tolerance ||z|| (2-norms).
/// Saad & Schultz, "GMRES", SIAM J. Sci. Stat. Comput. 7 (1986). Collective.
GmresCycle gmres_cycle(const VectorSpace& space, const std::function<Vector(const Vector&)>& apply,
                       const Vector& z, int restart, double tolerance);

}  // namespace lupine
