/// @file
/// GMRES for vectors along columns.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "refine/system.hpp"

namespace lupine {

using Vector = std::vector<double>;

/// What one cycle found.
struct GmresCycle {
  Vector correction;
  int steps = 0;
};

/// One cycle of GMRES on B d = z from d = 0: Arnoldi with classical Gram-Schmidt done twice, Givens
/// rotations; ends after `restart` steps or when ||z - B d|| <= tolerance ||z|| (2-norms).
/// Saad & Schultz, "GMRES", SIAM J. Sci. Stat. Comput. 7 (1986). Collective.
GmresCycle gmres_cycle(const System& system, const std::function<Vector(const Vector&)>& apply,
                       const Vector& z, int restart, double tolerance);

}  // namespace lupine
