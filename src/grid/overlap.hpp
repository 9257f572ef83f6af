// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The indices that two block-cyclic distributions of one dimension have in common on two
/// processes. Pure: conversions of indices only.
#pragma once

#include <cstdint>
#include <vector>

#include "grid/distribution.hpp"

namespace speedwell {

/// One dimension of a block-cyclic matrix as ScaLAPACK describes it: blocks are dealt to the
/// processes in turn, beginning with process `first`.
struct CyclicDimension {
  std::int64_t size = 0;
  std::int64_t block = 1;
  int processes = 1;
  int first = 0;  ///< 0 <= first < processes

  /// The indices of `process`, 0 <= process < processes: Distribution::me() is its turn.
  Distribution of(int process) const {
    return {size, block, processes, (process - first + processes) % processes};
  }
};

/// A range of indices that is contiguous in both distributions.
struct Overlap {
  LocalIndex from;
  LocalIndex to;
  std::int64_t length = 0;
};

/// The indices that are held by process from.me() in `from` and by process to.me() in `to`, and
/// there are among the `count` local indices of `to` from `begin` on: maximal ranges in ascending
/// order. Sender and receiver of a message get the same ranges. Local indices of `to` beyond its
/// last are ignored.
/// @pre from.size() == to.size()
std::vector<Overlap> overlaps(const Distribution& from, const Distribution& to, LocalIndex begin,
                              std::int64_t count);

/// The number of indices in these ranges.
std::int64_t total_length(const std::vector<Overlap>& ranges);

}  // namespace speedwell
