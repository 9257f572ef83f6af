// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One panel's progress through the columns to which it is applied, chunk by chunk.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/trace.hpp"
#include "device/queue.hpp"
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
  Queue& rows;     ///< runs exchanges of rows, and U_qj = L_qq^-1 A_qj
  Queue& updates;  ///< runs A_ij <- A_ij - L_iq U_qj
  bool own;        ///< whether the columns are the own column
  Phase rows_phase;
  Phase update_phase;
  Activity update;
};

/// Panel q and its chunks. For each chunk, in this order: the rows are exchanged, U_qj is computed
/// and broadcast ("solved"), and A_ij is updated.
struct Sweep {
  const Panel& panel;
  const DeviceRowMoves* moves;  ///< null without pivoting
  Way way;
  std::vector<Columns> chunks;
  std::int64_t first;       ///< running number of the first chunk, in the own column or the rest
  std::size_t solved = 0;   ///< chunks whose U_qj has been given to the queue and the carrier
  std::size_t updated = 0;  ///< chunks whose update has been given to the queue

  bool done() const { return updated == chunks.size(); }
};

}  // namespace lupine
