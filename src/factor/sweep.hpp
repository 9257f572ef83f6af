// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One panel's progress through the columns to which it is applied, chunk by chunk, and the queues
/// that it takes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <vector>

#include "core/trace.hpp"
#include "device/device.hpp"
#include "factor/lu.hpp"
#include "factor/pace.hpp"
#include "matrix/panel_ring.hpp"
#include "transport/row_exchange.hpp"

namespace lupine {

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

/// The queues on which a panel is applied to some columns, and the phases to which its time is
/// added. The columns are the own column (the block column of the next panel to be factored) or the
/// rest (the columns behind the own column).
struct Way {
  Queue& rows;     ///< runs exchanges of rows
  Queue& solves;   ///< runs U_qj = L_qq^-1 A_qj
  Queue& updates;  ///< runs A_ij <- A_ij - L_iq U_qj
  bool own;        ///< whether the columns are the own column
  Phase rows_phase;
  Phase update_phase;
  Activity update;
};

/// Makes what the queues of an LU need, before its first message: Device::prepare().
/// @param updates the queue of the rest's updates, at most `chunk` columns at once
/// @param panel_solves the queue of A_ik U_kk^-1, and of L_qq^-1 A_qk in the own column
/// @param row_solves the queue of L_qq^-1 A_qj in the rest, for at most `chunk` columns at once
inline void prepare_queues(Device& device, std::initializer_list<Queue*> queues, Queue& updates,
                           Queue& panel_solves, Queue& row_solves, const DistributedMatrix& a,
                           const LuPlan& plan, std::int64_t chunk) {
  const bool pivoting = plan.pivoting == Pivoting::partial;
  QueueWork work{.width = plan.width,
                 .purpose = plan.precision,
                 .permutes = pivoting,
                 .least_part = Beside::least};
  for (Queue* queue : queues) device.prepare(*queue, work);
  work.updated_rows = a.rows().local_size();
  work.updated_columns = chunk;
  device.prepare(updates, work);
  work.updated_rows = work.updated_columns = 0;
  if (!pivoting) work.solved_rows = a.rows().local_size();
  work.solved_columns = plan.width;
  device.prepare(panel_solves, work);
  work.solved_rows = 0;
  work.solved_columns = chunk;
  device.prepare(row_solves, work);
}

/// Panel q and its chunks. For each chunk, in this order: the rows are exchanged, U_qj is computed
/// and broadcast ("solved"), and A_ij is updated.
struct Sweep {
  const Panel& panel;
  const DeviceRowMoves* moves;  ///< null without pivoting
  Way way;
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
  /// The running number of chunk p.
  std::int64_t number(std::size_t p) const { return first + static_cast<std::int64_t>(p); }
  /// The label of a part of the exchange of chunk p's rows.
  TraceLabel exchange(Activity part, std::size_t p) const {
    return {.activity = part,
            .phase = way.rows_phase,
            .step = panel.step.index,
            .columns = chunks[p].count};
  }
};

}  // namespace lupine
