// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where rows of the matrix go when a panel's pivots are applied. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid/distribution.hpp"

namespace speedwell {

/// One process's part of a permutation of rows, in its local indices. The two processes of a pair
/// list the rows that one sends to the other in the same order: ascending by the global index of
/// the place that a row goes to.
struct RowMoves {
  struct Peer {
    int process = 0;
    std::int64_t sends = 0;     ///< rows of this process that go to the peer
    std::int64_t receives = 0;  ///< rows of the peer that come to this process
    std::int64_t begin = 0;     ///< in `rows`: the rows to send, then the places of those received
  };
  /// Row rows[i] moves to place rows[within + i] within this process, for i < within; those of the
  /// peers follow. The places are a permutation of the rows if there are no peers.
  std::vector<std::int64_t> rows;
  std::int64_t within = 0;
  std::vector<Peer> peers;  ///< in ascending order of `process`

  bool empty() const { return rows.empty(); }
};

/// Whether a panel's row exchanges are done or undone.
enum class Exchanges { forward, undo };
/// This process's part of the permutation that a panel's exchanges make together. Forward: rows
/// begin + j and pivots[j] are exchanged for j = 0, 1, ..., in this order; undo: in the reverse
/// order. @pre begin + j <= pivots[j] < rows.size()
RowMoves plan_row_moves(std::span<const std::int64_t> pivots, GlobalIndex begin,
                        const Distribution& rows, Exchanges exchanges = Exchanges::forward);

}  // namespace speedwell
