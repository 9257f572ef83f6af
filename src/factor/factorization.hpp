/// @file
/// LU factorization without pivoting of a block-cyclic matrix, in place: right-looking, look-ahead,
/// FP32 storage, update from panels of 16 (or 32) bits.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <functional>

#include "core/clock.hpp"
#include "device/device.hpp"
#include "matrix/distributed_matrix.hpp"
#include "transport/transport.hpp"

namespace lupine {

struct FactorOptions {
  Precision precision = Precision::fp16;  ///< resolved: not automatic
  std::int64_t width = 512;               ///< columns of a step at most
  int lookahead = 1;                      ///< panels factored ahead, >= 0
  BroadcastMethod broadcast = BroadcastMethod::ring_modified;
  std::int64_t steps = -1;  ///< stop after so many; < 0: factor all
};

/// Seconds of this rank: of its queues, so that panel and update may have run side by side.
struct FactorTimes {
  double panel = 0;      ///< diagonal blocks, panels, their casts and the updates they wait for
  double broadcast = 0;  ///< exposed: waiting for a message, nothing else to do
  double update = 0;     ///< trailing matrix
};

/// Equal on every rank but for the times.
struct FactorOutcome {
  std::int64_t bad_pivot = -1;  ///< first zero or non-finite pivot (0-based), or -1
  bool nonfinite = false;       ///< Inf or NaN in a panel
  FactorTimes times;

  bool usable() const { return bad_pivot < 0 && !nonfinite; }
};

/// Called on every rank after each step with the columns that are eliminated everywhere.
using ColumnsDone = std::function<void(std::int64_t columns)>;

/// A <- L\U. Collective. An unusable factorization is agreed on by all ranks and returned early;
/// the contents of A are then unspecified. Diagonal blocks are left as Device::factor_diagonal
/// leaves them.
FactorOutcome factorize(Transport& transport, DistributedMatrix& a, const FactorOptions& options,
                        const Clock& clock, const ColumnsDone& done = {});

}  // namespace lupine
