// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where rows of the matrix go when a panel's pivots are applied. Pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid/distribution.hpp"

namespace lupine {

/// One process's part of a permutation of rows, in its local indices. The two processes of a pair
/// list the rows that one sends to the other in the same order: ascending by the global index of
/// the place that a row goes to.
struct RowMoves {
  struct Peer {
    int process = 0;
    std::vector<std::int64_t> send;     ///< rows of this process that go to the peer
    std::vector<std::int64_t> receive;  ///< places in this process for the peer's rows
  };
  std::vector<std::int64_t> from;  ///< row from[i] moves to place to[i] within this process
  std::vector<std::int64_t> to;    ///< a permutation of `from` if there are no peers
  std::vector<Peer> peers;         ///< in ascending order of `process`

  bool empty() const { return from.empty() && peers.empty(); }
};

/// Whether a panel's row exchanges are done or undone.
enum class Exchanges { forward, undo };
/// This process's part of the permutation that a panel's exchanges make together. Forward: rows
/// begin + j and pivots[j] are exchanged for j = 0, 1, ..., in this order; undo: in the reverse
/// order. @pre begin + j <= pivots[j] < rows.size()
RowMoves plan_row_moves(std::span<const std::int64_t> pivots, GlobalIndex begin,
                        const Distribution& rows, Exchanges exchanges = Exchanges::forward);

}  // namespace lupine
