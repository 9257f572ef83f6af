// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The order of a device's operations: a Queue runs what it is given one after the other, and an
/// Event is a point in that order, which other queues and the host may wait for.
#pragma once

#include <memory>

namespace lupine {

/// Which queue goes first where work of several could run: high before raised before normal.
enum class Priority { normal, raised, high };

/// A point in a queue's order.
class Event {
 public:
  virtual ~Event() = default;
  /// Whether everything before it is done. Does not wait. @throws Fault if any of it failed
  virtual bool reached() const = 0;
  /// Waits until it is reached. @throws Fault if anything before it failed
  virtual void wait() const = 0;
  /// Seconds from `earlier` to this one. @pre both are reached, of the same device
  virtual double seconds_since(const Event& earlier) const = 0;
};
using EventPtr = std::shared_ptr<const Event>;

/// Operations in order. Different queues may run side by side.
class Queue {
 public:
  virtual ~Queue() = default;
  /// Waits until everything given so far is done; throws Fault if any of it failed.
  virtual void synchronize() = 0;
  virtual EventPtr record() = 0;
  /// What is given from now on starts after the event.
  virtual void wait(const Event& event) = 0;
};

}  // namespace lupine
