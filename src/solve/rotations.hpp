// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Random rotations of a matrix from both sides, against the growth of entries in its LU.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "core/matrix_view.hpp"
#include "device/device.hpp"
#include "grid/distribution.hpp"
#include "refine/factor_solver.hpp"

namespace speedwell {

/// A real orthogonal matrix U: some layers, each a random pairing of the rank's entries with a
/// random plane rotation of each pair; complex entries are turned as wholes. Ranks whose entries
/// are the same have the same U, and no rank needs another's entries.
class Rotations {
 public:
  /// @param mine the distribution of the entries @param seed another U for another one
  Rotations(const Distribution& mine, Field field, std::uint64_t seed);
  /// V <- U V, or U^T V, for the rank's entries of some vectors.
  void apply(Transpose transpose, MultiVector& v) const;

 private:
  friend void rotate(Device& device, const Rotations& u, const Rotations& v, AnyMatrix elements);
  struct Rotation {
    std::size_t i, j;
    double cosine, sine;
  };
  std::int64_t parts_;               // numbers of an entry
  std::vector<Rotation> rotations_;  // from the first to the last that U^T applies
};

/// A <- U^T A V for the rank's part of an FP64 matrix. Its columns pass through host memory.
void rotate(Device& device, const Rotations& u, const Rotations& v, AnyMatrix elements);

/// Solves with the factors of U^T A V as with those of A: A^-1 = V (U^T A V)^-1 U^T.
///
/// An LU with partial pivoting fails where the entries grow, up to 2^(n-1) times, as those of
/// Wilkinson's matrix do. That needs a structure, which random transforms from both sides destroy
/// (D. S. Parker, "Random butterfly transformations with applications in computational linear
/// algebra", UCLA CSD-950023, 1995; M. Baboulin, J. Dongarra, J. Herrmann, S. Tomov, "Accelerating
/// linear system solutions using randomization techniques", ACM Trans. Math. Softw. 39, 2013:
/// random butterflies without pivoting). Here LU pivots as before, and rotations keep 2-norms.
class RotatedSolver final : public FactorSolver {
 public:
  RotatedSolver(std::unique_ptr<FactorSolver> rotated, Rotations u, Rotations v)
      : rotated_(std::move(rotated)), u_(std::move(u)), v_(std::move(v)) {}
  MultiVector solve(const MultiVector& r) override;
  MultiVector solve_transposed(const MultiVector& r) override;

 private:
  std::unique_ptr<FactorSolver> rotated_;
  Rotations u_;
  Rotations v_;
};

}  // namespace speedwell
