// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Products with A^-1 that are good to a digit, and what is estimated from them.
#pragma once

#include <functional>

#include "refine/lu_solver.hpp"
#include "refine/system.hpp"

namespace lupine {

/// The inverse of the (scaled) matrix of a system, by its factors. Where these are of few bits,
/// (L U)^-1 may be far from A^-1: the first estimate finds out, and GMRES then mends every product.
/// All members are collective; vectors are whole.
class Inverse {
 public:
  /// @param exact the factors are as good as FP64's: taken as they are, as LAPACK does
  Inverse(System& system, LuSolver& solver, bool exact);
  Inverse(const Inverse&) = delete;
  Inverse& operator=(const Inverse&) = delete;

  /// ||A^-1||_inf, estimated; infinity where A^-1 cannot be told from the factors.
  double norm();
  /// || diag(left) A^-1 diag(right) ||_inf, estimated; infinity as norm() has it.
  /// @pre no entry of left or right is below 0
  double weighted_norm(const Vector& left, const Vector& right);

 private:
  using Linear = std::function<Vector(const Vector&)>;
  /// B^-1 for B = A or B = A^T, of local vectors.
  struct Side {
    VectorSpace results;
    const Distribution& from;  ///< how what it is applied to is distributed
    const Distribution& to;
    Linear solve;       ///< M v, M being (L U)^-1 or its transpose
    Linear multiply;    ///< B v
    Vector largest{};   ///< the v of the largest product so far
    double growth = 0;  ///< of it
  };
  Vector apply(Side& side, const Vector& v);
  Vector mended(const Side& side, const Vector& v, Vector z);
  bool agrees(const Side& side) const;

  Side plain_;
  Side transposed_;
  bool known_;           // whether products have to be mended
  bool mends_ = false;   // by GMRES
  bool failed_ = false;  // GMRES did not get there, once
};

}  // namespace lupine
