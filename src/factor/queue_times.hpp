// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The time that the work of the queues takes.
#pragma once

#include <deque>
#include <utility>

#include "core/run_context.hpp"
#include "device/queue.hpp"

namespace speedwell {

/// Seconds that this rank's queues spent in each phase. Phases of different queues may overlap, so
/// their sum may be more than the time of the factorization.
struct FactorTimes {
  double panel = 0;      ///< diagonal blocks, panels, their casts and the updates they wait for
  double rows = 0;       ///< exchanges of rows, block rows of U and their casts
  double broadcast = 0;  ///< time in which the host waited for messages
  double update = 0;     ///< updates of the trailing matrix

  /// The seconds of one phase. @throws Fault for a phase that is not of the factorization
  double& of(Phase phase);
};

/// Adds up the time between pairs of events once they are reached, and adds a span to the trace.
///
/// A trace needs times of the host's clock. So the constructor records an event in an idle queue
/// and reads the clock when the event is reached; all other events are placed relative to this
/// event. The error is the time until the host learns of the event (GPUs: some 10 microseconds),
/// and the drift between the two clocks afterwards.
class QueueTimes {
 public:
  /// @param idle a queue without work, on the device of the queues that will be timed
  QueueTimes(FactorTimes& totals, const RunContext& run, Queue& idle);

  /// Runs `work`, which gives its operations to `queue`. @return the event behind them
  template <class Work>
  EventPtr time(Queue& queue, Track track, const TraceLabel& label, const Work& work) {
    EventPtr begin = queue.record();
    work();
    EventPtr end = queue.record();
    spans_.push_back({std::move(begin), end, label, track});
    while (!spans_.empty() && spans_.front().end->reached()) take_first();
    return end;
  }
  /// Seconds for each element of C in the newest update that is finished; 0: none is.
  double update_of_element() const { return of_element_; }
  /// Adds the times of all spans that are still pending. @pre all queues are synchronized
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
  Trace* trace_;            // null: only the sums are kept
  EventPtr known_;          // an event whose time on the trace's clock is known
  double known_time_ = 0;   // the time of known_ on the trace's clock
  std::deque<Span> spans_;  // not added to the totals yet
  double of_element_ = 0;
};

}  // namespace speedwell
