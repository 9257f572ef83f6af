// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What changes the speed of a run and not its result.
#pragma once

#include <cstdint>

namespace lupine {

struct Tuning {
  std::int64_t nb = 1;     ///< block size
  int lookahead = 1;       ///< panels factored ahead
  std::int64_t chunk = 0;  ///< columns exchanged, solved for and updated at a time; 0: all

  bool operator==(const Tuning&) const = default;
};

}  // namespace lupine
