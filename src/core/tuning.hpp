// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The options that decide the speed of a run. They change its result by rounding errors alone.
#pragma once

#include <cstdint>

namespace speedwell {

struct Tuning {
  std::int64_t nb = 1;     ///< block size
  int lookahead = 1;       ///< look-ahead depth: panels factored ahead of the update
  std::int64_t chunk = 0;  ///< columns of one exchange of rows, solve and update; 0: all

  bool operator==(const Tuning&) const = default;
};

}  // namespace speedwell
