// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The only source of time. It is an interface, so that a simulated machine can have its own clock.
#pragma once

namespace speedwell {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Seconds since a fixed moment; never decreases.
  virtual double now() const = 0;
};

/// std::chrono::steady_clock.
class SteadyClock final : public Clock {
 public:
  double now() const override;
};

}  // namespace speedwell
