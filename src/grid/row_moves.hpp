// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Where rows go when a panel's pivots are applied, pure.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "grid/distribution.hpp"

namespace lupine {

/// One process's part of a permutation of rows, in local indices. Rows that two processes exchange
/// are listed by both in ascending order of where they go.
struct RowMoves {
  struct Peer {
    int process = 0;
    std::vector<std::int64_t> send;     ///< rows that go there
    std::vector<std::int64_t> receive;  ///< places of rows that come from there
  };
  std::vector<std::int64_t> from;  ///< of moves within this process
  std::vector<std::int64_t> to;    ///< a permutation of `from` where there are no peers
  std::vector<Peer> peers;         ///< ascending

  bool empty() const { return from.empty() && peers.empty(); }
};

enum class Exchanges { forward, undo };
/// The moves that exchanging row begin + j with row pivots[j], for j = 0, 1, ... in this order,
/// comes to; or what undoing that does. @pre begin + j <= pivots[j] < rows.size()
RowMoves plan_row_moves(std::span<const std::int64_t> pivots, GlobalIndex begin,
                        const Distribution& rows, Exchanges exchanges = Exchanges::forward);

}  // namespace lupine
