// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Clocks that tests move, so that no test depends on the speed of the machine.
#pragma once

#include "core/clock.hpp"

namespace speedwell::test {

/// A clock that stands still until the test sets it.
class SetClock final : public Clock {
 public:
  explicit SetClock(double start = 0) : time(start) {}
  double now() const override { return time; }
  double time;
};

/// A clock that advances by `step` seconds whenever it is read, so that work between two readings
/// takes `step` seconds.
class CountingClock final : public Clock {
 public:
  explicit CountingClock(double seconds = 1) : step(seconds) {}
  double now() const override { return ++looks * step; }
  mutable int looks = 0;
  double step;
};

}  // namespace speedwell::test
