// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization of a block-cyclic matrix, in place: right-looking, look-ahead, with or without
/// partial pivoting, FP32 factors updated from panels of 16 (or 32) bits or FP64 throughout.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>
#include <vector>

#include "core/clock.hpp"
#include "core/trace.hpp"
#include "device/device.hpp"
#include "factor/pivoted_panel.hpp"
#include "factor/queue_times.hpp"
#include "matrix/distributed_matrix.hpp"
#include "transport/transport.hpp"

namespace lupine {

struct FactorOptions {
  Precision precision = Precision::fp16;  ///< resolved: not automatic
  std::int64_t width = 512;               ///< columns of a step at most
  int lookahead = 1;                      ///< panels factored ahead, >= 0
  BroadcastMethod broadcast = BroadcastMethod::ring_modified;
  std::int64_t steps = -1;  ///< stop after so many; < 0: factor all
  Pivoting pivoting = Pivoting::none;
  Recursion recursion{};   ///< of pivoted panels
  std::int64_t chunk = 0;  ///< columns that are updated at once at most; 0: all
  Trace* trace = nullptr;  ///< where to record every span of work and waiting; null: nowhere
};

/// Equal on every rank but for the times.
struct FactorOutcome {
  /// With pivoting: row i was exchanged with row pivots[i] >= i, for i = 0, 1, ... in this order
  /// (LAPACK's ipiv, from 0).
  std::vector<std::int64_t> pivots;
  std::int64_t bad_pivot = -1;  ///< first zero or non-finite pivot (0-based), or -1
  bool nonfinite = false;       ///< Inf or NaN in a panel
  FactorTimes times;

  bool usable() const { return bad_pivot < 0 && !nonfinite; }
};

/// Called on every rank after each step with the columns that are eliminated everywhere.
using ColumnsDone = std::function<void(std::int64_t columns)>;

/// A <- L\U, or with pivoting P A <- L\U, where the columns of L stay as they were when their step
/// was done: rows that later steps exchange are exchanged in the columns behind them only.
/// Collective. An unusable factorization is agreed on by all ranks and returned early;
/// the contents of A are then unspecified. Diagonal blocks are left as Device::factor_diagonal
/// leaves them, or prepare_diagonal. @pre with FP64: pivoting
FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                        const Clock& clock, const ColumnsDone& done = {});

}  // namespace lupine
