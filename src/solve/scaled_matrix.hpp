// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A user's matrix with its scales: what is factored, and the system that is refined.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "comm/process_grid.hpp"
#include "device/checksum_keys.hpp"
#include "device/device.hpp"
#include "matrix/distributed_matrix.hpp"
#include "refine/certificate.hpp"
#include "refine/system.hpp"
#include "solve/checksum.hpp"
#include "solve/equilibration.hpp"
#include "solve/user_matrix.hpp"

namespace speedwell {

struct ChangeOfMatrix {
  std::string why;    ///< "A has changed in memory since it was read: column 2 ..."; empty: nothing
  bool of_a = false;  ///< and not R A C alone, which can be made again
};

/// R A C for the scales R and C of equilibrate(). Where these are moderate, A stays where it is and
/// the scales are applied to vectors. Otherwise products of A with vectors would leave FP64's
/// range, and R A C is held in FP64, each entry scaled in two steps: exact, but for entries that
/// underflow beside 1, the largest of their row and column.
class ScaledMatrix {
 public:
  /// Finds the scales. Collective. @param a must stay as it is, but for its block size
  /// @param raised the exponent of a power of two by which R A C is larger than with these scales
  /// @param checksums as in equilibrate()
  /// @throws UsageError if A has an Inf or NaN; AgreedFault, OutOfMemory where R A C does not fit
  ScaledMatrix(const ProcessGrid& grid, Device& device, const UserMatrix& a, Scaling scaling,
               std::vector<std::uint64_t>* checksums = nullptr, int raised = 0);

  const UserMatrix& matrix() const { return a_; }
  Scaling scaling() const { return scaling_; }
  const Equilibration& scales() const { return scales_; }
  /// Whether R A C is held, and not A read where it stays.
  bool is_held() const { return held_.has_value(); }
  /// The system (R A C) y = R b. Collective.
  System system() const;
  /// The elements <- the rank's part of R A C from its row i and column j on, rounded to their
  /// precision; to 16 bits by way of FP32. Not collective.
  void round_to(AnyMatrix elements, std::int64_t i = 0, std::int64_t j = 0) const;
  /// The entries of R A C for proofs, which refer to this object.
  ScaledEntries entries() const;
  /// ||A|| (or ||A^T||) of the given matrix, which may be beyond FP64's range. @param system that
  /// of A or A^T; the call may make a pass over A. Collective.
  long double norm(System& system, Transpose transpose) const;
  /// The exponent that the largest entry of R b gets: a large one, where entries of R b, or of y,
  /// may be very small beside the largest, and A is equilibrated, so that y is not much larger than
  /// R b.
  int exponent_of_b() const;
  /// Whether these are the scales that were found, or those of A^T. Not collective.
  bool holds(const Equilibration& scales, Transpose op) const {
    return checksum_of(op == Transpose::no ? scales.rows : scales.columns) == of_rows_ &&
           checksum_of(op == Transpose::no ? scales.columns : scales.rows) == of_columns_;
  }
  /// What has changed in memory on any rank, of A, or of R A C where it is held. Collective.
  /// @param of_a the checksum of A @param seen as in Checksum::where_changed(), of A
  ChangeOfMatrix what_changed(const Checksum& of_a, std::optional<MatrixChecksum> seen = {}) const;
  /// What underflow can change in an entry of b - A y, for a y whose largest magnitude is 1, but
  /// for a factor of n.
  double underflow() const { return underflow_; }

 private:
  const ProcessGrid& grid_;
  Device& device_;
  const UserMatrix& a_;
  Scaling scaling_;
  Equilibration scales_;
  std::optional<DistributedMatrix> held_;   // R A C, where the scales are not moderate
  std::optional<Checksum> checksum_;        // of held_
  std::array<long double, 2> norms_{0, 0};  // of A and A^T, where held_ is
  double underflow_;                        // by the scales, which it takes a pass to look at
  std::uint64_t of_rows_;                   // checksums of the scales
  std::uint64_t of_columns_;
};

}  // namespace speedwell
