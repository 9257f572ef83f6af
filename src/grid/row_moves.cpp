// SPDX-License-Identifier: BSD-3-Clause
#include "grid/row_moves.hpp"

#include <map>
#include <utility>

#include "core/expects.hpp"

namespace lupine {

RowMoves plan_row_moves(std::span<const std::int64_t> pivots, GlobalIndex begin,
                        const Distribution& rows, Exchanges exchanges) {
  std::map<std::int64_t, std::int64_t> content;  // for each place, the row that goes there
  const auto at = [&](std::int64_t place) -> std::int64_t& {
    return content.try_emplace(place, place).first->second;
  };
  const std::int64_t count = std::ssize(pivots);
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t j = exchanges == Exchanges::forward ? i : count - 1 - i;
    const std::int64_t pivot = pivots[static_cast<std::size_t>(j)];
    LUPINE_EXPECTS(begin.value + j <= pivot && pivot < rows.size());
    std::swap(at(begin.value + j), at(pivot));
  }

  RowMoves moves;
  std::map<int, RowMoves::Peer> peers;
  const auto peer = [&](int process) -> RowMoves::Peer& {
    RowMoves::Peer& p = peers[process];
    p.process = process;
    return p;
  };
  for (const auto& [place, row] : content) {
    if (place == row) continue;
    const GlobalIndex to{place};
    const GlobalIndex from{row};
    const bool here = rows.mine(to);
    const bool mine = rows.mine(from);
    if (here && mine) {
      moves.from.push_back(rows.local(from).value);
      moves.to.push_back(rows.local(to).value);
    } else if (mine) {
      peer(rows.owner(to)).send.push_back(rows.local(from).value);
    } else if (here) {
      peer(rows.owner(from)).receive.push_back(rows.local(to).value);
    }
  }
  for (auto& [process, p] : peers) moves.peers.push_back(std::move(p));
  return moves;
}

}  // namespace lupine
