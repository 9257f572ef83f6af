// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How long the work of queues takes.
#pragma once

#include <deque>
#include <utility>

#include "core/trace.hpp"
#include "device/queue.hpp"

namespace lupine {

/// Seconds of this rank: of its queues, so that panel and update may have run side by side.
struct FactorTimes {
  double panel = 0;      ///< diagonal blocks, panels, their casts and the updates they wait for
  double rows = 0;       ///< exchange of rows, block rows of U and their casts
  double broadcast = 0;  ///< exposed: waiting for a message, nothing else to do
  double update = 0;     ///< trailing matrix

  /// Of a phase of the factorization. @throws Fault for any other
  double& of(Phase phase);
};

/// Adds up the time between pairs of events, once they are reached, and traces it.
///
/// Times of a queue reach the clock's time line by an event that an idle queue is asked for: they
/// are late by how long the device takes to reach it and the host to learn of it (GPUs: some 10
/// microseconds), and off by what the two clocks drift apart afterwards.
class QueueTimes {
 public:
  /// @param trace null: sums alone
  /// @param idle a queue that has nothing to do, of the device of all queues
  QueueTimes(FactorTimes& totals, Trace* trace, Queue& idle);

  /// Runs `work`, which gives its operations to `queue`.
  template <class Work>
  void time(Queue& queue, Track track, const TraceLabel& label, const Work& work) {
    EventPtr begin = queue.record();
    work();
    spans_.push_back({std::move(begin), queue.record(), label, track});
    while (!spans_.empty() && spans_.front().end->reached()) take_first();
  }
  /// Takes the times that are left. @pre all queues are synchronized
  void finish();

 private:
  struct Span {
    EventPtr begin;
    EventPtr end;
    TraceLabel label;
    Track track;
  };
  void take_first();
  void trace(const Span& span, double seconds);

  FactorTimes& totals_;
  Trace* trace_;
  EventPtr known_;         // an event whose time is known
  double known_time_ = 0;  // of the trace's clock
  std::deque<Span> spans_;
};

}  // namespace lupine
