// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Numbers that were found by measuring, in one place.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>
#include <string>

#include "core/tuning.hpp"
#include "grid/grid_shape.hpp"

namespace lupine {

/// What the table's rows are chosen by.
struct TuningCase {
  std::int64_t n = 1;                     ///< >= 1
  Precision precision = Precision::fp16;  ///< resolved
  DeviceKind device = DeviceKind::cpu;    ///< resolved
  bool native = false;                    ///< the update has instructions of its own
  GridShape shape;
};

/// Values where neither the user nor a profile gave any.
struct Defaults {
  Tuning tuning;
  int leaf = 1;      ///< columns at which the recursion of a pivoted panel ends
  std::string row;   ///< of the table, in words: "cpu bf16 native", "cpu fp64, above 8192 a rank"
  bool cut = false;  ///< nb is less than the row's, for there would be too few blocks
};

/// The table's row for this case. Its block size is large enough for the update to run at its full
/// rate; a small problem gets a smaller one, so that it still has blocks for every rank and steps
/// to overlap: never more than n.
Defaults defaults_for(const TuningCase& which);

/// Of the update's rate, what a whole run reaches: bounds n for a time target. With pivoting, rows
/// are exchanged too.
constexpr double typical_efficiency(Pivoting pivoting) {
  return pivoting == Pivoting::partial ? 0.8 : 0.9;
}

}  // namespace lupine
