// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The order of a device's operations. A Queue runs its operations one after the other. An Event is
/// a point in that order; other queues and the host can wait for it.
#pragma once

#include <memory>

namespace speedwell {

/// The order in which the device serves its queues: high before raised before normal.
enum class Priority { normal, raised, high };

/// A point in a queue's order.
class Event {
 public:
  virtual ~Event() = default;
  /// Whether all operations before the event are done. Does not wait. @throws Fault if one failed
  virtual bool reached() const = 0;
  /// Makes the host wait until the event is reached. @throws Fault if an operation before it failed
  virtual void wait() const = 0;
  /// Seconds from `earlier`, an event of the same device, to this event.
  /// @pre both events are reached
  virtual double seconds_since(const Event& earlier) const = 0;
};
using EventPtr = std::shared_ptr<const Event>;

/// Runs operations in the order in which they are given. Different queues may run side by side.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Makes the host wait until all operations given so far are done. @throws Fault if one failed
  virtual void synchronize() = 0;
  /// The event behind all operations given so far.
  virtual EventPtr record() = 0;
  /// Makes this queue wait: operations given from now on start after the event. The host goes on.
  virtual void wait(const Event& event) = 0;
};

}  // namespace speedwell
