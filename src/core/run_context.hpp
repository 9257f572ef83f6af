// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What all parts of a run share: its clock, and who watches, interrupts and traces it.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <utility>

#include "core/clock.hpp"
#include "core/interrupt.hpp"
#include "core/stall_watch.hpp"
#include "core/trace.hpp"

namespace lupine {

/// One for each run on each rank, which its communicators and its device refer to. Work tells it
/// what it does by the hooks below; where nobody watches, interrupts or traces, a hook costs a
/// branch.
class RunContext {
 public:
  /// @param stalls, interrupt null: none
  explicit RunContext(const Clock& clock, StallWatch* stalls = nullptr,
                      Interrupt* interrupt = nullptr)
      : clock_(clock), stalls_(stalls), interrupt_(interrupt) {}
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;
  /// That of work outside of a run: a clock alone.
  static const RunContext& none();

  const Clock& clock() const { return clock_; }
  double now() const { return clock_.now(); }
  StallWatch* stalls() const { return stalls_; }
  Interrupt* interrupt() const { return interrupt_; }
  Trace* trace() const { return trace_; }

  /// Records the run's spans in a trace while the object lives; null: nowhere.
  class Tracing {
   public:
    Tracing(RunContext& run, Trace* trace) : run_(run), around_(std::exchange(run.trace_, trace)) {}
    ~Tracing() { run_.trace_ = around_; }
    Tracing(const Tracing&) = delete;
    Tracing& operator=(const Tracing&) = delete;

   private:
    RunContext& run_;
    Trace* around_;
  };

  /// Measures the time from its constructor to its destructor: records it as a span, and adds it to
  /// a sum. A span of the host is what the rank does meanwhile, which the StallWatch reports.
  class Span {
   public:
    /// @param sum null: none
    Span(const RunContext& run, Track track, const TraceLabel& label, double* sum = nullptr)
        : run_(run),
          track_(track),
          label_(label),
          sum_(sum),
          doing_(track == Track::host ? run.stalls_ : nullptr, label.activity, label.step),
          begin_(is_timed() ? run.now() : 0) {}
    ~Span() {
      if (!is_timed()) return;
      const double end = run_.now();
      if (sum_) *sum_ += end - begin_;
      if (run_.trace_) run_.trace_->add(track_, begin_, end, label_);
    }
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    bool is_timed() const { return sum_ || run_.trace_; }
    const RunContext& run_;
    Track track_;
    TraceLabel label_;
    double* sum_;
    StallWatch::Doing doing_;
    double begin_;
  };
  [[nodiscard]] Span span(Track track, const TraceLabel& label) const {
    return {*this, track, label};
  }
  /// A span of the host that is added to a sum.
  [[nodiscard]] Span stopwatch(double& sum, const TraceLabel& label) const {
    return {*this, Track::host, label, &sum};
  }
  /// Runs `work` as a stage of the run, with its span on Track::stages, and returns its result.
  template <class Work>
  auto stage(Activity activity, const Work& work) const {
    const Span whole = span(Track::stages, {.activity = activity});
    return work();
  }

  /// A wait for other ranks or the device, for as long as the object lives: StallWatch::Waiting.
  [[nodiscard]] StallWatch::Waiting waiting(std::string_view what,
                                            std::span<const int> ranks = {}) const {
    return {stalls_, what, ranks};
  }
  /// While the object lives, waits may take any time: StallWatch::Pause.
  [[nodiscard]] StallWatch::Pause pause() const { return StallWatch::Pause(stalls_); }

  /// Whether to end early: see Interrupt::ended().
  bool ended() const { return interrupt_ && interrupt_->ended(); }
  /// Calls a caller's function. Its exception ends the rank; where there is no Interrupt, it
  /// passes.
  template <class Work>
  void call(const Work& work) const {
    interrupt_ ? interrupt_->call(work) : work();
  }
  /// Says how far a factorization is: see Interrupt::reach().
  void reach(std::int64_t columns, std::int64_t n) const {
    if (interrupt_) interrupt_->reach(columns, n);
  }

 private:
  const Clock& clock_;
  StallWatch* stalls_;
  Interrupt* interrupt_;
  Trace* trace_ = nullptr;
};

}  // namespace lupine
