// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What all ranks know of a factorization's numbers.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <speedwell/error.hpp>

#include "comm/communicator.hpp"
#include "comm/interruption.hpp"
#include "device/device.hpp"

namespace speedwell {

/// What all ranks know: the first bad pivot (0-based, or -1), whether a rank has met a number that
/// is not finite, and whether one has been interrupted.
struct FactorVerdict {
  std::int64_t bad_pivot = -1;
  bool nonfinite = false;
  bool interrupted = false;
};

/// The worst of all ranks' states. Collective. @throws Fault on all ranks where a kernel of one has
/// given up a wait
inline FactorVerdict worst_status(const Communicator& all, FactorStatus mine) {
  constexpr auto none = std::numeric_limits<std::int64_t>::max();
  std::array<std::int64_t, 3> first{mine.bad_pivot < 0 ? none : mine.bad_pivot,
                                    mine.nonfinite != 0 ? 0 : 1, mine.stuck != 0 ? 0 : 1};
  const bool interrupted = is_interrupted(all);
  all.all_reduce(first, Reduction::min);
  if (first[2] == 0) throw Fault("the blocks of threads of a GPU's kernel wait for each other");
  return {first[0] == none ? -1 : first[0], first[1] == 0, interrupted};
}

}  // namespace speedwell
