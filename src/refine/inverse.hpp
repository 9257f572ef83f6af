// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Norms of A^-1, estimated from products with A^-1.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "refine/factor_solver.hpp"
#include "refine/norm_estimate.hpp"
#include "refine/system.hpp"

namespace lupine {

/// The weights of || diag(left) A^-1 diag(right) ||_inf: whole vectors without negative entries.
struct Weights {
  Vector left;
  Vector right;
};

/// The inverse of a system's scaled matrix R A C, by its factors. In this class, A means R A C.
///
/// With low-precision factors, (L U)^-1 may be far from A^-1. So the first estimates are made with
/// z = (L U)^-1 v as products, and the correction (L U)^-1 (v - A z) of the product that grew most
/// is computed. Let e be its norm over that of z, the larger one of products with A^-1 and A^-T.
/// - e <= 1/10: estimates stay as they are.
/// - e <= 1/2: the products that determine the estimates are refined by some corrections.
/// - e > 1/2: products are not accurate. There are no estimates, but a lower bound: for any y,
///   ||A^-1|| >= ||y|| / ||A y||. It is made large by y <- y - (L U)^-1 A y, which turns y towards
///   the vector that A makes smallest.
/// All members are collective.
class Inverse {
 public:
  /// @param exact whether the factors are FP64: then, as in LAPACK, no product is corrected
  Inverse(System& system, FactorSolver& solver, bool exact);
  Inverse(const Inverse&) = delete;
  Inverse& operator=(const Inverse&) = delete;

  /// Estimates of || diag(left) A^-1 diag(right) ||_inf, one for each pair of weights, made
  /// together (see estimate_one_norms). Infinity where a product overflows; nothing where products
  /// are not accurate.
  std::optional<std::vector<double>> norms(const std::vector<Weights>& weights);
  /// A lower bound of ||A^-1||_inf, for the case that norms() returns nothing. At most seven
  /// products and solves. @pre norms() was called before
  double norm_at_least();

 private:
  /// Products with B^-1, where B is A or A^T. `solve` and `multiply` take the rank's entries.
  using Linear = std::function<MultiVector(const MultiVector&)>;
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
  std::vector<Vector> apply(Side& side, const std::vector<Vector>& vectors);
  std::vector<NormEstimate> estimate(const std::vector<Weights>& weights);
  void refine(const std::vector<Weights>& weights, std::vector<NormEstimate>& found);
  double error(const Side& side) const;

  Side plain_;
  Side transposed_;
  bool known_;        // whether the error of products is known
  double error_ = 0;  // relative error of products that are not corrected
};

}  // namespace lupine
