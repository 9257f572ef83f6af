// SPDX-License-Identifier: BSD-3-Clause
#include "grid/row_moves.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

RowMoves plan_row_moves(std::span<const std::int64_t> pivots, GlobalIndex begin,
                        const Distribution& rows, Exchanges exchanges) {
  // The places whose rows may change: those of the panel, then the pivots below it, both ascending.
  const std::int64_t count = std::ssize(pivots);
  std::vector<std::int64_t> places(pivots.size());
  std::iota(places.begin(), places.end(), begin.value);
  std::ranges::copy_if(pivots, std::back_inserter(places),
                       [&](std::int64_t pivot) { return pivot >= begin.value + count; });
  std::sort(places.begin() + count, places.end());
  places.erase(std::unique(places.begin() + count, places.end()), places.end());
  std::vector<std::int64_t> content = places;  // for each place, the row that goes there
  const auto at = [&](std::int64_t place) -> std::int64_t& {
    const std::int64_t own = place - begin.value;
    const auto below = std::lower_bound(places.begin() + count, places.end(), place);
    return content[static_cast<std::size_t>(own < count ? own : below - places.begin())];
  };
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t j = exchanges == Exchanges::forward ? i : count - 1 - i;
    const std::int64_t pivot = pivots[static_cast<std::size_t>(j)];
    SPEEDWELL_EXPECTS(begin.value + j <= pivot && pivot < rows.size());
    std::swap(at(begin.value + j), at(pivot));
  }

  struct Pair {
    std::vector<std::int64_t> from, to;
  };
  Pair within;
  std::map<int, Pair> pairs;
  for (std::size_t i = 0; i < places.size(); ++i) {
    const GlobalIndex to{places[i]};
    const GlobalIndex from{content[i]};
    if (to.value == from.value) continue;
    const bool here = rows.mine(to);
    const bool mine = rows.mine(from);
    if (mine) (here ? within : pairs[rows.owner(to)]).from.push_back(rows.local(from).value);
    if (here) (mine ? within : pairs[rows.owner(from)]).to.push_back(rows.local(to).value);
  }
  RowMoves moves;
  const auto append = [&](const Pair& pair) {
    moves.rows.insert(moves.rows.end(), pair.from.begin(), pair.from.end());
    moves.rows.insert(moves.rows.end(), pair.to.begin(), pair.to.end());
  };
  append(within);
  moves.within = std::ssize(within.from);
  for (const auto& [process, pair] : pairs) {
    moves.peers.push_back(
        {process, std::ssize(pair.from), std::ssize(pair.to), std::ssize(moves.rows)});
    append(pair);
  }
  return moves;
}

}  // namespace speedwell
