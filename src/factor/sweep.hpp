// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A panel on its way through some columns, chunk by chunk.
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

/// Cut at columns that are multiples of `chunk`, so that a chunk of one step lies within a chunk of
/// the step before.
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

/// Where a panel is applied: to the next panel's own column, or to the rest beside that panel.
struct Way {
  Queue& rows;     ///< exchange of rows, and solves for rows of U
  Queue& updates;  ///< products
  bool own;
  Phase rows_phase;
  Phase update_phase;
  Activity update;
};

/// How far the panel has come: chunks are solved for, and then updated, in their order.
struct Sweep {
  const Panel& panel;
  const DeviceRowMoves* moves;  ///< null without pivoting
  Way way;
  std::vector<Columns> chunks;
  std::int64_t first;  ///< running number of the first chunk, of those of this way
  std::size_t solved = 0;
  std::size_t updated = 0;

  bool done() const { return updated == chunks.size(); }
};

}  // namespace lupine
