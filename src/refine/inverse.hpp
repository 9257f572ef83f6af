// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Norms of A^-1, estimated from products with A^-1.
#pragma once

#include <functional>

#include "refine/lu_solver.hpp"
#include "refine/system.hpp"

namespace lupine {

/// The inverse of a system's scaled matrix R A C, by its factors. In this class, A means R A C.
///
/// With low-precision factors, (L U)^-1 may be far from A^-1. So the first estimate is made with
/// z = (L U)^-1 v as products, and the correction (L U)^-1 (v - A z) of the product that grew most
/// is computed. Let e be its norm over that of z, the larger one of products with A^-1 and A^-T.
/// - e <= 1/10: estimates stay as they are.
/// - e <= 1/2: GMRES corrects the product that determines an estimate.
/// - e > 1/2: GMRES corrects every product from then on, and the first estimate is made again.
/// All members are collective; vectors are whole.
class Inverse {
 public:
  /// @param exact whether the factors are FP64: then, as in LAPACK, no product is corrected
  Inverse(System& system, LuSolver& solver, bool exact);
  Inverse(const Inverse&) = delete;
  Inverse& operator=(const Inverse&) = delete;

  /// An estimate of ||A^-1||_inf (see estimate_one_norm). Infinity where the factors are too
  /// inaccurate for GMRES to correct the products.
  double norm();
  /// An estimate of || diag(left) A^-1 diag(right) ||_inf; infinity as in norm().
  /// @pre no entry of left or right is below 0
  double weighted_norm(const Vector& left, const Vector& right);

 private:
  using Linear = std::function<Vector(const Vector&)>;
  /// Products with B^-1, where B is A or A^T. `solve` and `multiply` take the rank's entries.
  struct Side {
    VectorSpace results;       ///< the space of B^-1 v
    const Distribution& from;  ///< the distribution of v
    const Distribution& to;    ///< the distribution of B^-1 v
    Linear solve;              ///< M v, where M is (L U)^-1 or its transpose
    Linear multiply;           ///< B v
    Vector largest{};          ///< the rank's entries of the v with the largest ||M v|| / ||v||
    Vector product{};          ///< M v for that v
    double growth = 0;         ///< that ratio, in infinity norms
  };
  Vector apply(Side& side, const Vector& v);
  Vector mended(const Side& side, const Vector& v, Vector z);
  double error(const Side& side) const;

  Side plain_;
  Side transposed_;
  bool known_;           // whether the error of products is known
  double error_ = 0;     // relative error of products that are not corrected
  bool mends_ = false;   // whether GMRES corrects the products
  bool failed_ = false;  // whether GMRES has failed to correct a product
};

}  // namespace lupine
