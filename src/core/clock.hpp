// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The one source of time, so that a simulated machine can bring its own.
#pragma once

namespace lupine {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since a fixed point, never decreasing.
  virtual double now() const = 0;
};

class SteadyClock final : public Clock {
 public:
  double now() const override;
};

}  // namespace lupine
