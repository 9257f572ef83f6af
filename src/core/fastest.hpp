// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Timing of work that takes a short time.
#pragma once

#include <algorithm>

#include "core/clock.hpp"

namespace speedwell {

/// Seconds that the fastest of several runs of `work` took; at least 1e-9. Runs begin until
/// `seconds` have passed, and at least `least` runs are made.
template <class Work>
double fastest(const Clock& clock, double seconds, Work work, int least = 1) {
  const double first = clock.now();
  double begin = first;
  double best = 0;
  do {
    work();
    const double end = clock.now();
    const double took = std::max(end - begin, 1e-9);
    best = best == 0 ? took : std::min(best, took);
    begin = clock.now();
  } while (--least > 0 || begin - first < seconds);
  return best;
}

}  // namespace speedwell
