// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures where the time goes: the spans of time in which a rank and its queues work on
/// something, and the sums of these spans.
///
/// Sums are always kept. A Trace also keeps every span; where the pointer to it is null, a span
/// costs one branch.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace speedwell {

/// A row of the trace's picture: one queue of the device, or the host. Spans of one track do not
/// overlap.
enum class Track : std::uint8_t {
  stages,   ///< the stages of the run: generation, factorization, ...
  host,     ///< the host's waits, and the parts of the refinement
  panels,   ///< the queue of the panels
  rows,     ///< the queue of the exchanges of rows and of the block rows of U
  updates,  ///< the queue of the trailing matrix
  solves,   ///< the queue of the solves with the factors
};

/// The phase of the report in whose sum a span is counted.
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
  pivoted_panel,     ///< factor a whole panel with pivoting
  apply_to_panel,    ///< A_ij -= L_iq U_qj in the columns of the next panel
  exchange_rows,     ///< pack the rows for other ranks; move the rows that stay on this rank
  place_rows,        ///< put the rows that came from other ranks in their places
  solve_row,         ///< U_qj = L_qq^-1 A_qj, rounded
  update,            ///< A_ij -= L_iq U_qj in the columns behind the panel
  wait_for_panel,    ///< wait for the message with L_ik
  wait_for_row,      ///< wait for the message with U_qj
  wait_for_rows,     ///< wait for the exchange of rows
  share_diagonal,    ///< broadcast the diagonal block along the process column
  share_rows,        ///< panel with pivoting: broadcast its first rows
  compare_pivots,    ///< gather the pivots that the process column's ranks offer
  wait_for_pivots,   ///< wait for the device to find pivots
  wait_for_updates,  ///< wait for the device to finish earlier work, mostly updates
  agree,             ///< agree with all ranks whether the factors are usable
  solve,             ///< solve L U x = b
  solve_lower,       ///< solve L y = b
  solve_upper,       ///< solve U x = y
  residual,          ///< b - A x
  product,           ///< A v
};

/// The name in traces and in the message of a stall: "update", "wait for panel".
std::string_view name(Activity activity);
/// The name in traces: "host".
std::string_view name(Track track);
/// The name in the JSON report: "broadcast_exposed". Empty for Phase::none.
std::string_view name(Phase phase);

struct TraceLabel {
  Activity activity = Activity::update;
  Phase phase = Phase::none;
  std::int64_t step = -1;     ///< number of the panel worked on; -1: none
  std::int64_t rows = -1;     ///< rows worked on, on this rank; -1: not recorded
  std::int64_t columns = -1;  ///< columns worked on, on this rank; -1: not recorded
};

/// A span of time, from `begin` to `end` in seconds of a Clock. Ranks send spans as raw bytes.
struct TraceSpan {
  double begin = 0;
  double end = 0;
  TraceLabel label;
  Track track = Track::host;
};

/// A value that was sampled at one moment. Ranks send counters as raw bytes.
struct TraceCounter {
  double time = 0;  ///< in seconds of a Clock
  double value = 0;
  std::array<char, 64> name{};  ///< "GPU 0 sm_mhz"; ends with a zero
};
/// @param name what is behind 63 characters is left out
TraceCounter trace_counter(std::string_view name, double time, double value);

/// All spans of one rank.
struct RankTrace {
  std::vector<TraceSpan> spans;
  std::int64_t left_out = 0;  ///< number of spans that were not kept, for lack of room
  std::vector<TraceCounter> counters{};
};

/// Records a rank's spans. Only one thread may use it.
class Trace {
 public:
  static constexpr std::size_t most_spans = std::size_t{1} << 20;

  /// @param most number of spans that are kept; later ones are only counted
  explicit Trace(std::size_t most = most_spans);

  /// Records a span. Without memory for it, the span counts as left out.
  void add(Track track, double begin, double end, const TraceLabel& label) noexcept;
  void add(const TraceCounter& counter) { trace_.counters.push_back(counter); }
  const std::vector<TraceSpan>& spans() const { return trace_.spans; }
  std::int64_t left_out() const { return trace_.left_out; }
  /// Returns all that was recorded, and begins anew.
  RankTrace take();

 private:
  std::size_t most_;
  RankTrace trace_;
};

}  // namespace speedwell
