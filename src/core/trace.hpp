// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where the time goes: what a rank and its queues do from when to when, and how much that is in
/// all.
///
/// Sums are always kept; a Trace, where there is one, keeps every span beside them. Without one
/// (null) a span costs a branch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "core/clock.hpp"
#include "core/stall_watch.hpp"

namespace lupine {

/// What shows one span after the other: a queue of the device, or what the host does meanwhile.
/// Spans of one track do not overlap.
enum class Track : std::uint8_t {
  stages,   ///< of the run: generation, factorization, ...
  host,     ///< waiting, and the parts of the refinement
  panels,   ///< queue of the panels
  rows,     ///< queue of exchanges of rows and block rows of U
  updates,  ///< queue of the trailing matrix
  solves,   ///< queue of the solves with the factors
};

/// What the report counts a span as.
enum class Phase : std::uint8_t { none, panel, rows, broadcast, update, solves, residuals };

enum class Activity : std::uint8_t {
  warm_up,
  generation,
  factorization,
  refinement,
  solution,
  verification,
  diagonal,          ///< A_kk = L_kk U_kk
  solve_panel,       ///< L_ik = A_ik U_kk^-1, rounded
  pivoted_panel,     ///< all of a panel with pivoting
  apply_to_panel,    ///< A_ij -= L_iq U_qj in the columns of the next panel
  exchange_rows,     ///< those that leave, and those that stay within the rank
  place_rows,        ///< those that have come
  solve_row,         ///< U_qj = L_qq^-1 A_qj, rounded
  update,            ///< A_ij -= L_iq U_qj behind the panel
  wait_for_panel,    ///< L_ik
  wait_for_row,      ///< U_qj
  wait_for_rows,     ///< the exchange of rows
  share_diagonal,    ///< the diagonal block, along the process column
  share_rows,        ///< of a panel with pivoting: its first rows, or a pivot's
  compare_pivots,    ///< the candidates of the process column
  wait_for_pivots,   ///< from the device
  wait_for_updates,  ///< from the device, which is a step behind
  agree,             ///< whether the factors are usable
  solve,             ///< with both factors
  solve_lower,
  solve_upper,
  residual,  ///< b - A x
  product,   ///< A v
};

/// "update", "wait for panel".
std::string_view name(Activity activity);
/// "host".
std::string_view name(Track track);
/// As the JSON report has it: "broadcast_exposed". Empty for none.
std::string_view name(Phase phase);

struct TraceLabel {
  Activity activity = Activity::update;
  Phase phase = Phase::none;
  std::int64_t step = -1;     ///< the panel that it is about; -1: none
  std::int64_t rows = -1;     ///< of what is worked on, on this rank; -1: not said
  std::int64_t columns = -1;  ///< the same
};

/// From `begin` to `end`, in seconds of a Clock. Copied between ranks as its bytes.
struct TraceSpan {
  double begin = 0;
  double end = 0;
  TraceLabel label;
  Track track = Track::host;
};

/// All spans of one rank.
struct RankTrace {
  std::vector<TraceSpan> spans;
  std::int64_t left_out = 0;  ///< spans that there was no room for
};

/// Records a rank's spans. For one thread.
class Trace {
 public:
  static constexpr std::size_t most_spans = std::size_t{1} << 20;

  /// @param most spans that are kept; what comes later is only counted
  explicit Trace(const Clock& clock, std::size_t most = most_spans);

  const Clock& clock() const { return clock_; }
  /// Where memory is at its end, the span is counted as one that was left out.
  void add(Track track, double begin, double end, const TraceLabel& label) noexcept;
  const std::vector<TraceSpan>& spans() const { return trace_.spans; }
  std::int64_t left_out() const { return trace_.left_out; }
  /// Gives up what was recorded.
  RankTrace take();

 private:
  const Clock& clock_;
  std::size_t most_;
  RankTrace trace_;
};

/// Adds the time until its end to a sum, and to the track of the host. A watch is told what the
/// host is at meanwhile.
class Stopwatch {
 public:
  Stopwatch(const Clock& clock, double& sum, Trace* trace = nullptr, const TraceLabel& label = {},
            StallWatch* stalls = nullptr)
      : clock_(clock),
        sum_(sum),
        trace_(trace),
        label_(label),
        doing_(stalls, label.activity, label.step),
        begin_(clock.now()) {}
  ~Stopwatch() {
    const double end = clock_.now();
    sum_ += end - begin_;
    if (trace_) trace_->add(Track::host, begin_, end, label_);
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;

 private:
  const Clock& clock_;
  double& sum_;
  Trace* trace_;
  TraceLabel label_;
  StallWatch::Doing doing_;
  double begin_;
};

/// Times one kind of work of the host.
struct HostTimer {
  const Clock& clock;
  double& sum;
  Trace* trace;
  Phase phase;
  StallWatch* stalls = nullptr;

  Stopwatch watch(Activity activity, std::int64_t step) const {
    return {clock, sum, trace, {.activity = activity, .phase = phase, .step = step}, stalls};
  }
};

/// A span of the host that no sum counts, until its end.
class TraceScope {
 public:
  TraceScope(Trace* trace, Track track, const TraceLabel& label)
      : trace_(trace), track_(track), label_(label), begin_(trace ? trace->clock().now() : 0) {}
  ~TraceScope() {
    if (trace_) trace_->add(track_, begin_, trace_->clock().now(), label_);
  }
  TraceScope(const TraceScope&) = delete;
  TraceScope& operator=(const TraceScope&) = delete;

 private:
  Trace* trace_;
  Track track_;
  TraceLabel label_;
  double begin_;
};

/// The result of `work`, a stage of the run.
template <class Work>
auto stage(Trace* trace, Activity activity, const Work& work) {
  const TraceScope scope(trace, Track::stages, {.activity = activity});
  return work();
}

}  // namespace lupine
