// SPDX-License-Identifier: BSD-3-Clause
#include "factor/queue_times.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <limits>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

double& FactorTimes::of(Phase phase) {
  switch (phase) {
    case Phase::panel:
      return panel;
    case Phase::rows:
      return rows;
    case Phase::broadcast:
      return broadcast;
    case Phase::update:
      return update;
    default:
      throw Fault("no phase of the factorization");
  }
}

QueueTimes::QueueTimes(FactorTimes& totals, const RunContext& run, Queue& idle)
    : totals_(totals), trace_(run.trace()) {
  if (!trace_) return;
  // If the operating system suspends this thread during a try, the clock is read late. So the
  // shortest try is the most exact one.
  constexpr int tries = 8;
  double shortest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < tries; ++i) {
    const double begin = run.now();
    EventPtr event = idle.record();
    event->wait();
    const double end = run.now();
    if (end - begin >= shortest) continue;
    shortest = end - begin;
    known_ = std::move(event);
    known_time_ = begin + shortest / 2;
  }
}

void QueueTimes::finish() {
  SPEEDWELL_EXPECTS(std::all_of(spans_.begin(), spans_.end(),
                                [](const Span& span) { return span.end->reached(); }));
  while (!spans_.empty()) take_first();
}

void QueueTimes::take_first() {
  const Span& first = spans_.front();
  const double seconds = first.end->seconds_since(*first.begin);
  totals_.of(first.label.phase) += seconds;
  if (first.label.activity == Activity::update)
    of_element_ = seconds / static_cast<double>(first.label.rows * first.label.columns);
  if (trace_) trace(first, seconds);
  spans_.pop_front();
}

void QueueTimes::trace(const Span& span, double seconds) {
  const double begin = known_time_ + span.begin->seconds_since(*known_);
  trace_->add(span.track, begin, begin + seconds, span.label);
  // GPUs report the time between two events in FP32 (24 bits): within a second it is exact to a
  // microsecond. So after a second a later event becomes the reference.
  constexpr double near = 1;
  if (begin - known_time_ < near) return;
  known_ = span.begin;
  known_time_ = begin;
}

}  // namespace speedwell
