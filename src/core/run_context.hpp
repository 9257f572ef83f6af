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
#include "core/run_meter.hpp"
#include "core/stall_watch.hpp"
#include "core/trace.hpp"

namespace speedwell {

/// What a caller adds to a run; null: nothing. Equal on all ranks, but for their values.
struct RunHooks {
  Interrupt* interrupt = nullptr;
  RunMeter* meter = nullptr;
};

/// One for each run on each rank, which its communicators and its device refer to. Work tells it
/// what it does by the hooks below; where nobody watches, interrupts or traces, a hook costs a
/// branch.
class RunContext {
 public:
  /// @param stalls null: none
  explicit RunContext(const Clock& clock, StallWatch* stalls = nullptr, const RunHooks& hooks = {})
      : clock_(clock), stalls_(stalls), hooks_(hooks) {}
  RunContext(const RunContext&) = delete;
  RunContext& operator=(const RunContext&) = delete;
  /// That of work outside of a run: a clock alone.
  static const RunContext& none();

  const Clock& clock() const { return clock_; }
  double now() const { return clock_.now(); }
  StallWatch* stalls() const { return stalls_; }
  const RunHooks& hooks() const { return hooks_; }
  Interrupt* interrupt() const { return hooks_.interrupt; }
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
    const Metering metering(hooks_.meter, activity);
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
  bool ended() const { return hooks_.interrupt && hooks_.interrupt->ended(); }
  /// Calls a caller's function. Its exception ends the rank; where there is no Interrupt, it
  /// passes.
  template <class Work>
  void call(const Work& work) const {
    hooks_.interrupt ? hooks_.interrupt->call(work) : work();
  }
  /// Says how far a factorization is: see Interrupt::reach().
  void reach(std::int64_t columns, std::int64_t n) const {
    if (hooks_.interrupt) hooks_.interrupt->reach(columns, n);
  }

 private:
  /// Tells the meter of a stage.
  class Metering {
   public:
    Metering(RunMeter* meter, Activity stage) : meter_(meter), stage_(stage) {
      if (meter_) meter_->stage_begins();
    }
    ~Metering() {
      if (meter_) meter_->stage_ends(stage_);
    }
    Metering(const Metering&) = delete;
    Metering& operator=(const Metering&) = delete;

   private:
    RunMeter* meter_;
    Activity stage_;
  };

  const Clock& clock_;
  StallWatch* stalls_;
  RunHooks hooks_;
  Trace* trace_ = nullptr;
};

}  // namespace speedwell
