// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// GMRES for the refinement. See also docs/numerics.md.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/expects.hpp"
#include "grid/grid_shape.hpp"
#include "refine/vectors.hpp"

namespace speedwell {

/// Most steps of a GMRES cycle, from 30 to 200: in between, their vectors take a twentieth of the
/// memory of FP32 factors.
int gmres_restart(std::int64_t n, const GridShape& shape);

/// The most right-hand sides that GMRES takes together, at least one: their vectors take a fifth of
/// the memory of FP32 factors at most.
std::int64_t gmres_vectors(std::int64_t n, const GridShape& shape);

/// A Givens rotation: (x, y) <- (c x + s y, c y - s x).
struct Rotation {
  double c = 1;
  double s = 0;
  void apply(double& x, double& y) const {
    const double t = c * x + s * y;
    y = c * y - s * x;
    x = t;
  }
};

/// One cycle of GMRES for B d = z, starting from d = 0: Arnoldi with classical Gram-Schmidt done
/// twice, and Givens rotations. Y. Saad and M. H. Schultz, "GMRES: A generalized minimal residual
/// algorithm for solving nonsymmetric linear systems", SIAM J. Sci. Stat. Comput. 7 (1986).
///
/// The caller computes the products with B, so that several cycles can take theirs together:
///     while (cycle.runs()) cycle.take(B cycle.next());
/// The constructor and take() are collective.
class GmresCycle {
 public:
  /// @param restart most steps
  /// @param tolerance the cycle ends when ||z - B d|| <= tolerance ||z|| (2-norms)
  GmresCycle(const VectorSpace& space, Vector z, int restart, double tolerance);

  /// Whether the cycle needs another product.
  bool runs() const { return runs_; }
  /// The vector v that take() needs B v of. @pre runs()
  const Vector& next() const {
    SPEEDWELL_EXPECTS(runs_);
    return basis_.back();
  }
  /// Makes a step. @param w B next() @pre runs()
  void take(Vector w);
  /// Ends the cycle.
  void stop() { runs_ = false; }

  int steps() const { return steps_; }
  /// ||z - B d|| / ||z|| after 0, 1, 2, ... steps, by recurrence.
  std::span<const double> residuals() const { return residuals_; }
  /// d; z itself if no step was made.
  Vector correction() const;

 private:
  VectorSpace space_;
  Vector z_;
  int restart_;
  double tolerance_;
  double beta_ = 0;  // ||z||
  bool runs_ = false;
  int steps_ = 0;
  std::vector<Vector> basis_;
  std::vector<Vector> r_;  // the triangle R of the rotated problem, by columns
  std::vector<Rotation> rotations_;
  Vector g_;  // its right-hand side
  std::vector<double> residuals_{1};
};

}  // namespace speedwell
