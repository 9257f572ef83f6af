// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What all ranks know of a factorization's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "comm/communicator.hpp"
#include "device/device.hpp"

namespace lupine {

/// The first bad pivot of all ranks, and whether one of them has a number that is not finite.
/// Collective.
inline FactorStatus worst_status(const Communicator& all, FactorStatus mine) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 2> first{mine.bad_pivot < 0 ? none : mine.bad_pivot,
                                    mine.nonfinite != 0 ? 0 : 1};
  all.all_reduce(first, Reduction::min);
  return {first[0] == none ? -1 : first[0], first[1] == 0 ? 1 : 0};
}

}  // namespace lupine
