// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Norms of A^-1, estimated from products with A^-1.
#pragma once

#include <speedwell/solution.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "refine/factor_solver.hpp"
#include "refine/norm_estimate.hpp"
#include "refine/system.hpp"

namespace speedwell {

/// The weights of || diag(left) A^-1 diag(right) ||_inf: whole vectors without negative entries.
struct Weights {
  Vector left;
  Vector right;
};

/// How far L U may be from the matrix that was factored.
struct FactorError {
  /// The unit roundoff of the factors.
  double roundoff = 0;
  /// The growth of the entries in the LU, max |u_ij| / max |a_ij|; NaN where it was not measured.
  double growth = unknown;
  /// What an entry of L U may be off by underflow, beside an A of entries up to 1 that do not grow.
  double underflow = 0;
};

/// FactorError::underflow where the updates read this precision (docs/numerics.md, 4.6).
double underflow_of(Precision update, Precision storage);

/// The growth by the largest magnitudes of L\U and of A, infinity where the first is not finite;
/// NaN where the largest one may be a 1 of L and tells nothing of U.
inline double growth_of(double most_of_lu, double most_of_a) {
  return most_of_lu > 1 || most_of_a >= 0.5 ? most_of_lu / most_of_a : unknown;
}

/// The inverse of a system's scaled matrix R A C, by its factors. In this class, A means R A C.
///
/// (L U)^-1 may be far from A^-1: where the factors have few bits, where entries have grown in the
/// LU, or where A is nearly singular. So no estimate is believed without a check. Let u be the
/// roundoff of the factors, g the growth of their entries, and
///     s = ||A|| u max ||z|| / ||v||  over the products z = (L U)^-1 v.
/// If g s is small, and infinity norm and 2-norm are taken for the two norms, so that s is large
/// rather than small, the estimates hold: a singular value of A that the factors do not know would
/// make g s large. Otherwise the corrections (L U)^-1 (v - A z) of some products that grew most
/// are computed, of A or A^T, whichever has the one that grew most; random vectors are among those
/// compared. Let e be the largest ||correction|| / ||z||.
/// - e <= 1/10: estimates stay as they are.
/// - e <= 1/2: the products that determine the estimates are refined by some corrections.
/// - e > 1/2, refined products that do not settle, s >= 1 in 2-norms, or g s >= 1 and random
/// vectors
///   that I - (L U)^-1 A does not make small: products are not accurate. There are no estimates,
///   but a lower bound: see condition(). The last is so where grown entries hide a singular A: the
///   factors have large rounding errors in the place of its small singular values.
/// All members are collective.
class Inverse {
 public:
  /// @param seed of the random vectors
  Inverse(System& system, FactorSolver& solver, FactorError error, std::uint64_t seed);
  Inverse(const Inverse&) = delete;
  Inverse& operator=(const Inverse&) = delete;

  /// Estimates of || diag(left) A^-1 diag(right) ||_inf, one for each pair of weights, made
  /// together, and with that of condition() where it is not known (see estimate_one_norms).
  /// Infinity where a product overflows; nothing where products are not accurate. Each is raised
  /// by margin().
  std::optional<std::vector<double>> norms(std::vector<Weights> weights);
  /// ||A||_inf ||A^-1||_inf, made in the first call. Where products are not accurate it is a lower
  /// bound: ||A^-1|| >= ||y|| / ||A y|| for any y, with the rounding errors of A y added to it. y
  /// is the combination that A makes smallest of a block of vectors Y, products with random vectors
  /// at first, which is turned towards the vectors that A makes smallest: Y <- Y - (L U)^-1 A Y,
  /// and in every other turn Y <- Y - (L U)^-1 (A Y - P). P is the part of A Y along products of
  /// random vectors with the transposed inverse: there the factors have lost what A is, and make
  /// roundings grow.
  const ConditionEstimate& condition();
  /// By how much a norm that was estimated may be larger for the error of the products with the
  /// factors: 1 / (1 - e), where e may be that of refined ones.
  double margin() const { return 1 / (1 - error_of_norms_); }
  /// What the factors' underflow may change in ||diag(left) |A^-1| f||_inf, for max left_i = 1 and
  /// ||f|| = 1.
  double lost_by_underflow();

 private:
  /// Products with B^-1, where B is A or A^T. `solve` and `multiply` take the rank's entries.
  using Linear = std::function<MultiVector(const MultiVector&)>;
  struct Operator {
    VectorSpace results;       ///< the space of B^-1 v
    const Distribution& from;  ///< the distribution of v
    const Distribution& to;    ///< the distribution of B^-1 v
    Linear solve;              ///< M v, where M is (L U)^-1 or its transpose
    Linear multiply;           ///< B v
    struct Product {
      double growth;  ///< ||z||_2 / ||v||_2
      Vector v;       ///< the rank's entries
      Vector z;       ///< M v
    };
    std::vector<Product> largest{};  ///< those that grew most, descending
    bool finite = true;              ///< whether all products were
  };
  struct Check {
    double error = 0;  ///< e
    double norm = 0;   ///< of B, about the 2-norm
  };
  static std::vector<Vector> whole(const Operator& op, const MultiVector& results);
  static MultiVector local(const Operator& op, const std::vector<Vector>& vectors);
  std::vector<Vector> apply(Operator& op, const std::vector<Vector>& vectors);
  std::vector<NormEstimate> estimate(const std::vector<Weights>& weights);
  double refine(const std::vector<Weights>& weights, std::vector<NormEstimate>& found, double goal);
  double judged();
  Check check(const Operator& op) const;
  bool settles(const Operator& op) const;
  double norm_at_least();

  System& system_;
  FactorError factors_;
  std::uint64_t seed_;
  Operator plain_;
  Operator transposed_;
  double error_ = 0;  // relative error of products that are not corrected; infinite: not accurate
  double error_of_norms_ = 1e-9;  // of those that were estimated: at first of FP64's roundings
  std::optional<ConditionEstimate> condition_;
};

}  // namespace speedwell
