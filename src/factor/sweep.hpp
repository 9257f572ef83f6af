// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One panel's progress through the columns to which it is applied, chunk by chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "core/trace.hpp"
#include "device/device.hpp"
#include "factor/lu.hpp"
#include "factor/pace.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/row_exchange.hpp"

namespace speedwell {

/// Local columns [begin, begin + count).
struct Columns {
  LocalIndex begin;
  std::int64_t count;
};

/// Divides columns into chunks, at local columns that are multiples of `chunk`. So each chunk of
/// one step lies within one chunk of the step before.
inline std::vector<Columns> cut(Columns all, std::int64_t chunk) {
  std::vector<Columns> chunks;
  const LocalIndex end = all.begin + all.count;
  for (LocalIndex j = all.begin; j < end;) {
    const LocalIndex next = std::min(LocalIndex{(j.value / chunk + 1) * chunk}, end);
    chunks.push_back({j, next - j});
    j = next;
  }
  return chunks;
}

/// What an LU gives its device, of a matrix of which this rank has so many rows and columns.
inline QueueWork lu_work(const LuPlan& plan, std::int64_t rows, std::int64_t columns) {
  const bool pivoting = plan.pivoting == Pivoting::partial;
  const bool real = plan.field == Field::real;
  const bool factors = real && !pivoting && plan.storage() == Precision::fp32;
  return {.width = plan.parts() * plan.width,
          .field = plan.field,
          .solved_rows = pivoting ? 0 : rows,
          .solved_columns = std::max(plan.width, columns),
          .purpose = plan.precision,
          .permutes = pivoting,
          .factors = factors,
          .inverts = factors || (real && plan.storage() == Precision::fp64),
          .leaf_rows = pivoting && plan.grid.nprow == 1 ? rows : 0,
          .least_part = Beside::least,
          .updated_rows = plan.parts() * rows,
          .updated_columns = columns};
}

/// Makes what the queues of an LU need, before its first message: Device::prepare().
/// @param updates the queue of updates and solves, in the rest of at most `chunk` columns at once
inline void prepare_queues(Device& device, Queue& panels, Queue& rows, Queue& updates,
                           const DistributedMatrix& a, const LuPlan& plan, std::int64_t chunk) {
  const QueueWork all = lu_work(plan, a.rows().local_size(), chunk);
  QueueWork work{.width = all.width,
                 .field = all.field,
                 .purpose = all.purpose,
                 .permutes = all.permutes,
                 .least_part = all.least_part};
  device.prepare(rows, work);
  work.factors = all.factors;
  work.leaf_rows = all.leaf_rows;
  device.prepare(panels, work);
  work = all;
  work.factors = false;
  work.leaf_rows = 0;
  device.prepare(updates, work);
}

/// Panel q and its chunks. For each chunk, in this order: the rows are exchanged, U_qj is computed
/// and broadcast ("solved"), and A_ij is updated. The chunks are those of the own column (the block
/// column of the next panel to be factored), or of the rest (the columns behind the own column).
struct Sweep {
  const Panel& panel;
  const DeviceRowMoves* moves;  ///< null without pivoting
  bool own;                     ///< whether the chunk is the own column
  std::vector<Columns> chunks;
  std::int64_t first;        ///< running number of the first chunk, in the own column or the rest
  std::size_t solved = 0;    ///< chunks whose U_qj has been given to the queue and the carrier
  std::size_t updated = 0;   ///< chunks whose update has been given to the queue as a whole
  std::int64_t columns = 0;  ///< columns whose update has been given to the queue
  std::int64_t now = all;    ///< columns that may be updated now; others come after panel k

  static constexpr std::int64_t all = std::numeric_limits<std::int64_t>::max();
  bool done() const { return updated == chunks.size(); }
  /// The columns of the next chunk that are to be updated next, counted from its first one: all
  /// that are left of it, or as many as may be updated now.
  Columns next() const {
    const Columns& chunk = chunks[updated];
    const std::int64_t before = columns - (chunk.begin.value - chunks.front().begin.value);
    return {LocalIndex{before}, std::min(chunk.count - before, now - columns)};
  }
  Phase rows_phase() const { return own ? Phase::panel : Phase::rows; }
  Phase update_phase() const { return own ? Phase::panel : Phase::update; }
  Activity activity() const { return own ? Activity::apply_to_panel : Activity::update; }
  /// The running number of chunk p.
  std::int64_t number(std::size_t p) const { return first + static_cast<std::int64_t>(p); }
  /// The label of a part of the exchange of chunk p's rows.
  TraceLabel exchange(Activity part, std::size_t p) const {
    return {.activity = part,
            .phase = rows_phase(),
            .step = panel.step.index,
            .columns = chunks[p].count};
  }
};

}  // namespace speedwell
