// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The choice of the solver's steps by their cost, and of the right-hand sides that a step refines
/// together. Pure: no MPI, no device.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <vector>

#include "grid/lu_plan.hpp"
#include "setup/rates.hpp"

namespace lupine {

/// A step of the solver: LU in one precision, and the refinement with its factors.
struct Attempt {
  Precision precision = Precision::fp64;
  double seconds = 0;    ///< of its LU, predicted
  bool rotated = false;  ///< whether the matrix is rotated before (RotatedSolver)
  /// Whether columns are scaled before rows, where the matrix is equilibrated.
  bool columns_first = false;

  bool operator==(const Attempt&) const = default;
};

/// Predicted seconds of an LU with partial pivoting:
///     2/3 n^3 / (rate of the update) + n^2 nb / 2 / (rate of a panel),
/// of a complex matrix four times that, where a panel has a quarter of the update's rate in the
/// storage precision, and the ranks of one process column factor it. The second term is 0 where
/// panels are factored beside the updates.
/// @param lu of which n, nb, field, grid and overlaps count
double lu_seconds(const LuPlan& lu, Precision precision, const Rates& rates);

/// The steps that are worth trying, in order: FP64, and before it the faster one of FP32 and FP16x3
/// and the faster 16-bit precision, each only if its LU is predicted to take at most 0.6 of the
/// time of the next one's.
/// @param rates those of BF16, FP16, FP32 and FP64, and of FP16x3 where it may be a step
/// @param first not `automatic`: the steps begin with this precision, whatever it costs; later
///        steps are more accurate by more than two bits, so that FP32 does not follow FP16x3
std::vector<Attempt> worthwhile_attempts(const LuPlan& lu, const Rates& rates, Precision first);

/// Predicted seconds of the refinement of `count` right-hand sides, as products of matrices: in
/// FP64 one solve each; in a lower precision of unit roundoff u
///     c (2 n^2 / (rate of FP32) + 2 n^2 / (rate of FP64)),  c = 53 / log2(1 / (u max(16, kappa /
///     16))),
/// where c corrections with an FP32 solve and an FP64 residual bring 53 bits, each as many as the
/// factors have for a matrix of condition number kappa. A few right-hand sides, whose operations
/// are bound by memory, take longer than this, but little beside the LU.
/// @param condition NaN: not known
double refine_seconds(const LuPlan& lu, Precision precision, const Rates& rates, std::int64_t count,
                      double condition);

/// The steps without those that do not pay for so many right-hand sides: each first step is left
/// out whose LU and refinement are predicted to take longer than those of the next one.
std::vector<Attempt> attempts_worth_making(std::vector<Attempt> steps, const LuPlan& lu,
                                           const Rates& rates, std::int64_t count,
                                           double condition);

/// Whether factors of this precision are of no use for a matrix of this condition number, in the
/// infinity norm: the refinement would need too many corrections. False where `condition` is NaN.
bool is_hopeless(Precision precision, double condition);

/// Bytes of the vectors of one right-hand side while it is refined, on a rank whose part of A is
/// rows x columns.
double refining_bytes(std::int64_t rows, std::int64_t columns);
/// The right-hand sides that such a rank refines together at most: as many as pay, and as their
/// vectors have room for in as much memory as its part of A and 64 MB.
std::int64_t most_refined(std::int64_t rows, std::int64_t columns);

}  // namespace lupine
