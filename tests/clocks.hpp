// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Clocks that tests move, so that nothing depends on how fast a machine is.
#pragma once

#include "core/clock.hpp"

namespace lupine::test {

/// Stands still until it is set.
class SetClock final : public Clock {
 public:
  explicit SetClock(double start = 0) : time(start) {}
  double now() const override { return time; }
  double time;
};

/// Moves on by `step` seconds with every look at it: whatever is timed between two looks takes one.
class CountingClock final : public Clock {
 public:
  explicit CountingClock(double seconds = 1) : step(seconds) {}
  double now() const override { return ++looks * step; }
  mutable int looks = 0;
  double step;
};

}  // namespace lupine::test
