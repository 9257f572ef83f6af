// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether the vectors and the scales of a solve are still what was read and found, as Checksum
/// tells it of A: docs/numerics.md, section 5.3.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "refine/system.hpp"
#include "refine/vectors.hpp"
#include "solve/equilibration.hpp"
#include "solve/scaled_matrix.hpp"
#include "source/source.hpp"

namespace speedwell {

/// right <- the rank's part of R b 2^-shift. The largest |r_i b_i| 2^-shift is in [1/2, 1), or as
/// matrix.exponent_of_b() says. Returns the shift. @param b whole @param scales those of `system`
int scale_side(const System& system, const ScaledMatrix& matrix, const Equilibration& scales,
               std::span<const double> b, std::span<double> right);

/// Solved systems, and the checksums of what was read for them.
struct SolvedSides {
  const System& system;
  const ScaledMatrix& matrix;
  Transpose op;                 ///< of `system`
  const Equilibration& scales;  ///< of `system`, as they were used
  const MultiVector& b;         ///< whole
  const VectorChecksums& b_read;
  const std::vector<int>& shifts;
  const VectorChecksums& right_read;  ///< of the rank's part of R b 2^-shift; nothing: not solved
  const MultiVector& y;               ///< the solutions
  const VectorChecksums& y_read;
};

/// What has changed in any rank's memory, so that the solutions hold for something else, in a line:
/// "b has changed in memory since it was read". Empty: nothing. Collective.
std::string what_changed(const SolvedSides& solved);

/// The solutions that have been stored for the caller.
class StoredSolutions {
 public:
  explicit StoredSolutions(std::int64_t count) : sums_(static_cast<std::size_t>(count)) {}
  /// Stores that of right-hand side k. Collective. @param made its checksum as it was made;
  /// nothing: it has none
  void put(const ProcessGrid& grid, const RightHandSideSource& b, std::int64_t k,
           std::span<const double> solution, const std::optional<MatrixChecksum>& made,
           std::vector<double>& x);
  /// Whether x is what was stored, on every rank. Collective.
  bool hold(const ProcessGrid& grid, const RightHandSideSource& b,
            const std::vector<double>& x) const;

 private:
  VectorChecksums sums_;
  bool broken_ = false;
};

}  // namespace speedwell
