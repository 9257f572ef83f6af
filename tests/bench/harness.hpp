// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Times parts of the solver, and prints each with the rate that the machine allows.
#pragma once

#include <algorithm>
#include <cstdio>
#include <limits>
#include <string>

#include "core/clock.hpp"

namespace speedwell {

/// The shortest of several runs in seconds, or of one run with `smoke`. A first run warms up and is
/// not counted.
template <class Work>
double best_seconds(bool smoke, Work work) {
  const SteadyClock clock;
  const double begin = clock.now();
  double best = std::numeric_limits<double>::infinity();
  for (int run = 0; run < 2 || (!smoke && (run < 6 || clock.now() - begin < 0.5)); ++run) {
    const double start = clock.now();
    work();
    if (run > 0) best = std::min(best, clock.now() - start);
  }
  return best;
}

struct Unit {
  const char* name;
  double size;
};
constexpr Unit gigabytes{"GB/s", 1e9};
constexpr Unit gigaelements{"Gelement/s", 1e9};
constexpr Unit gigaflops{"GFLOP/s", 1e9};

/// A table with one line for each part: name, time, rate, the rate that the machine allows
/// ("floor"), and the share of it.
class Table {
 public:
  static void header() {
    std::printf("%-34s %11s %12s %12s %-11s %7s\n", "part", "time", "rate", "floor", "unit",
                "share");
  }
  /// @param floor 0: not known
  static void row(const std::string& part, double seconds, double work, Unit unit, double floor) {
    const double rate = work / seconds;
    std::printf("%-34s %8.3f ms %12.3f ", part.c_str(), seconds * 1e3, rate / unit.size);
    if (floor > 0)
      std::printf("%12.3f %-11s %5.0f %%\n", floor / unit.size, unit.name, 100 * rate / floor);
    else
      std::printf("%12s %s\n", "-", unit.name);
    std::fflush(stdout);
  }
};

}  // namespace speedwell
