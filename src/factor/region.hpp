// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory that operations of several queues use in turn. An operation names the regions that it
/// uses, and its queue waits for the earlier operations on which it depends.
#pragma once

#include <utility>

#include "device/queue.hpp"

namespace speedwell {

/// Knows its latest use. Those who only read a region here are all in one queue, so that reading
/// and writing need not be told apart.
class Region {
 public:
  /// `queue` waits for the latest use, unless that is its own.
  void before(Queue& queue) const {
    if (event_ && queue_ != &queue) queue.wait(*event_);
  }
  /// The latest use is an operation of `queue`, and ends with `event`.
  void used(const Queue& queue, EventPtr event) {
    queue_ = &queue;
    event_ = std::move(event);
  }
  /// The latest use was a message, unless that is known. @param event Carrier::arrived()
  void received(const EventPtr& event) {
    if (std::exchange(message_, event) == event || event == event_) return;
    queue_ = nullptr;
    event_ = event;
  }

 private:
  const Queue* queue_ = nullptr;
  EventPtr event_;  // null: over, as far as queues are concerned
  EventPtr message_;
};

}  // namespace speedwell
