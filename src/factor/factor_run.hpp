// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What is asked of one factorization beside its plan.
#pragma once

#include <cstdint>

namespace speedwell {

struct FactorRun {
  std::int64_t steps = -1;  ///< number of steps after which to stop; < 0: factor all columns
  /// The part of the device (0 to 1) that panels get beside updates; < 0: as measured times say.
  double panel_part = -1;
  /// Whether panels get each part in turn that measured times may choose: see Device::rehearse.
  bool rehearses = false;
};

}  // namespace speedwell
