// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The choice of the solver's steps by their cost, and of the right-hand sides that a step refines
/// together. Pure: no MPI, no device.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <vector>

#include "grid/lu_plan.hpp"
#include "setup/rates.hpp"

namespace speedwell {

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
/// time of the next one's; 16 bits up to 0.95, where attempts_worth_making() decides by a sample.
/// @param rates those of BF16, FP16, FP32 and FP64, and of FP16x3 where it may be a step
/// @param first not `automatic`: the steps begin with this precision, whatever it costs; later
///        steps are more accurate by more than two bits, so that FP32 does not follow FP16x3
std::vector<Attempt> worthwhile_attempts(const LuPlan& lu, const Rates& rates, Precision first);

/// Predicted seconds of the refinement of `count` right-hand sides. c corrections, each with an
/// FP32 solve and an FP64 residual, bring 53 bits, each as many as the factors have for a matrix of
/// condition number kappa: of factors of 16 bits and unit roundoff u
///     c = 53 / log2(1 / (u max(2, kappa / 256))),
/// of FP32 ones with 16 in the place of 2 and of 256, and none of FP64 ones, which take one solve.
/// Of up to Device::few_vectors sides a correction is bound by memory, and reads A and its factors:
/// 1.5 times the 2 n^2 operations of a product with A, an FP64 solve once, at 1/20 of the rate of
/// FP64 products of matrices. More sides take products of matrices, which reach 0.45 of those
/// rates:
///     c count (2 n^2 / (rate of FP32) + 2 n^2 / (rate of FP64)) / 0.45.
/// @param condition NaN: not known
double refine_seconds(const LuPlan& lu, Precision precision, const Rates& rates, std::int64_t count,
                      double condition);

/// The steps without those that do not pay, from the first one on. Of many right-hand sides, a step
/// is left out whose LU and refinement are predicted to take longer than those of the next one. Of
/// up to Device::few_vectors, a step whose LU takes more than 0.6 of the next one's time is left
/// out, unless a sample has told the condition number kappa, and its LU, its refinement and, with a
/// probability of kappa u / 16, all of the next step take less time than the next step.
/// @param condition NaN: not known
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

}  // namespace speedwell
