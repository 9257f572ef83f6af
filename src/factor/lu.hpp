// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization of a block-cyclic matrix, in place: right-looking, with look-ahead, with or
/// without partial pivoting. The factors are FP32, or of 16 bits where the plan is narrow, and the
/// update reads panels of 16 or 32 bits; or everything is FP64. Formulas and sources:
/// docs/numerics.md; the order of the work: src/factor/README.md.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <functional>

#include "device/device.hpp"
#include "factor/equal_vector.hpp"
#include "factor/factor_run.hpp"
#include "factor/pivoted_panel.hpp"
#include "factor/queue_times.hpp"
#include "factor/worst_status.hpp"
#include "grid/lu_plan.hpp"
#include "matrix/distributed_matrix.hpp"
#include "transport/transport.hpp"

namespace speedwell {

/// The result of a factorization. All members but the times are equal on every rank.
struct FactorOutcome : FactorVerdict {
  /// With pivoting: row i was exchanged with row pivots[i] >= i, for i = 0, 1, ... in this order
  /// (LAPACK's ipiv, from 0).
  EqualVector<std::int64_t> pivots;
  FactorTimes times;

  bool usable() const { return bad_pivot < 0 && !nonfinite && !interrupted; }
  FactorVerdict& verdict() { return *this; }
};

/// Reports progress. Called on every rank at the end of every step but the first, with the number
/// of columns in the steps before it, and after the last step with n. With look-ahead, the updates
/// with the latest of these columns may still be missing.
using ColumnsDone = std::function<void(std::int64_t columns)>;

/// Overwrites A by its factors L and U, where A = L U, or P A = L U with pivoting; L has ones on
/// its diagonal, which are not stored. Diagonal blocks are stored in the form in which
/// Device::factor_diagonal (with pivoting: Device::prepare_diagonal) writes them.
///
/// With pivoting, a step exchanges rows only in its panel and in the columns behind it, so the
/// columns of L keep the row order of their own step (as in LINPACK; LAPACK exchanges the rows of L
/// too).
///
/// Collective. If a pivot is zero or not finite, or a panel has an Inf or NaN, all ranks agree on
/// that and return early: FactorOutcome::usable() is false and the contents of A are unspecified.
/// @throws Interrupted on every rank, if any rank has ended
/// @pre n, nb, grid and storage of the plan are those of A; pivoting, unless A is stored in FP32
FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const LuPlan& plan,
                        const ColumnsDone& done = {}, const FactorRun& how = {});

/// Bytes that factorize() allocates beside A on the rank that has the most: in the memory of its
/// device, without the device's own scratch; and in host memory for panels and rows on their way.
struct FactorMemory {
  std::int64_t device = 0;
  std::int64_t host = 0;
};
FactorMemory factor_memory(const LuPlan& plan);
/// Of these, the copy of the rows of a chunk of an A of 16 bits (WidePart), on a rank with chunks
/// of so many columns.
std::int64_t wide_bytes(const LuPlan& plan, std::int64_t chunk);

}  // namespace speedwell
