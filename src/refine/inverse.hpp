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

  /// ||A^-1||_inf, estimated; infinity where A^-1 cannot be told from the factors.
  double norm();
  /// || diag(left) A^-1 diag(right) ||_inf, estimated. The same. @pre entries are >= 0
  double weighted_norm(const Vector& left, const Vector& right);

 private:
  using Linear = std::function<Vector(const Vector&)>;
  Vector product(Layout layout, const Vector& v, const Linear& solve, const Linear& multiply);
  Vector apply(const Vector& v);
  Vector apply_transposed(const Vector& v);
  bool agrees(const Vector& v);

  System& system_;
  LuSolver& solver_;
  bool known_;           // whether products have to be mended
  bool mends_ = false;   // by GMRES
  bool failed_ = false;  // GMRES did not get there, once
  Vector largest_;       // the v of the largest A^-1 v so far
  double growth_ = 0;    // of it
};

}  // namespace lupine
