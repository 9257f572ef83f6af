// SPDX-License-Identifier: BSD-3-Clause
#include "grid/overlap.hpp"

#include <algorithm>

#include "core/expects.hpp"

namespace speedwell {

namespace {

// The number of indices from l on, but before `end`, that are in the same block as l.
std::int64_t rest_of_block(const Distribution& d, LocalIndex l, LocalIndex end) {
  return std::min(d.block() - l.value % d.block(), end - l);
}

void append(std::vector<Overlap>& ranges, const Overlap& next) {
  if (!ranges.empty()) {
    Overlap& last = ranges.back();
    if (last.from + last.length == next.from && last.to + last.length == next.to) {
      last.length += next.length;
      return;
    }
  }
  ranges.push_back(next);
}

}  // namespace

std::vector<Overlap> overlaps(const Distribution& from, const Distribution& to, LocalIndex begin,
                              std::int64_t count) {
  SPEEDWELL_EXPECTS(from.size() == to.size());
  std::vector<Overlap> ranges;
  const LocalIndex end{std::min(to.local_size(), begin.value + count)};
  for (LocalIndex t = begin; t < end; t = t + rest_of_block(to, t, end)) {
    const GlobalIndex g = to.global(t);
    const LocalIndex last = from.local_begin(g + rest_of_block(to, t, end));
    for (LocalIndex f = from.local_begin(g); f < last; f = f + rest_of_block(from, f, last))
      append(ranges, {f, t + (from.global(f) - g), rest_of_block(from, f, last)});
  }
  return ranges;
}

std::int64_t total_length(const std::vector<Overlap>& ranges) {
  std::int64_t sum = 0;
  for (const Overlap& range : ranges) sum += range.length;
  return sum;
}

}  // namespace speedwell
