// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The table of default block sizes, look-ahead depths and chunks, found by measurements.
#pragma once

#include <speedwell/options.hpp>

#include <cstdint>
#include <string>

#include "core/tuning.hpp"
#include "grid/lu_plan.hpp"

namespace speedwell {

/// Values that hold where neither the user nor a profile gave one.
struct Defaults {
  Tuning tuning;
  int leaf = 1;      ///< columns at which the recursion of a pivoted panel ends
  std::string row;   ///< name of the table's row: "cpu fast 16 bits, above 12288 a rank"
  bool cut = false;  ///< nb is less than the row's nb, which would make too few blocks

  std::string source() const { return "table (" + row + ")"; }
};

/// The default values for a plan whose n, precision, device and grid are settled. The row's block
/// size is large enough for the update to run at its full rate. A small problem gets a smaller one,
/// at most n, so that every rank has blocks and there are steps to overlap.
/// @param fast whether 16-bit updates are much faster than FP32's
/// @param threads of a rank, on a CPU
Defaults defaults_for(const LuPlan& lu, bool fast, int threads);

/// The part of the update's rate that a whole run typically reaches; a time target bounds n by it.
/// It is less with pivoting, which exchanges rows.
constexpr double typical_efficiency(Pivoting pivoting) {
  return pivoting == Pivoting::partial ? 0.8 : 0.9;
}

}  // namespace speedwell
