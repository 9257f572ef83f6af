// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <numeric>
#include <random>

#include "catch.hpp"
#include "grid/row_moves.hpp"

namespace speedwell::test::row_moves_tests {
namespace {

// A column whose entry i is i, after every process has moved its part.
std::vector<std::int64_t> apply(const std::vector<std::int64_t>& pivots, std::int64_t begin,
                                std::int64_t n, std::int64_t nb, int processes,
                                Exchanges exchanges = Exchanges::forward) {
  std::vector<RowMoves> moves;
  std::vector<std::vector<std::int64_t>> before;
  for (int me = 0; me < processes; ++me) {
    const Distribution rows(n, nb, processes, me);
    moves.push_back(plan_row_moves(pivots, {begin}, rows, exchanges));
    std::vector<std::int64_t> mine;
    for (std::int64_t l = 0; l < rows.local_size(); ++l) mine.push_back(rows.global({l}).value);
    before.push_back(mine);
  }
  auto after = before;
  for (int me = 0; me < processes; ++me) {
    const auto& m = moves[static_cast<std::size_t>(me)];
    auto& mine = after[static_cast<std::size_t>(me)];
    const auto& was = before[static_cast<std::size_t>(me)];
    const auto row = [](const RowMoves& of, std::int64_t i) {
      return static_cast<std::size_t>(of.rows[static_cast<std::size_t>(i)]);
    };
    for (std::int64_t i = 0; i < m.within; ++i) mine[row(m, m.within + i)] = was[row(m, i)];
    std::int64_t listed = 2 * m.within;
    for (const RowMoves::Peer& peer : m.peers) {
      REQUIRE(peer.process != me);
      REQUIRE(peer.begin == listed);
      listed += peer.sends + peer.receives;
      const auto& sender = moves[static_cast<std::size_t>(peer.process)];
      const auto back = std::ranges::find(sender.peers, me, &RowMoves::Peer::process);
      REQUIRE(back != sender.peers.end());
      REQUIRE(back->sends == peer.receives);
      for (std::int64_t i = 0; i < peer.receives; ++i)
        mine[row(m, peer.begin + peer.sends + i)] =
            before[static_cast<std::size_t>(peer.process)][row(sender, back->begin + i)];
    }
    REQUIRE(listed == std::ssize(m.rows));
  }
  std::vector<std::int64_t> whole(static_cast<std::size_t>(n));
  for (int me = 0; me < processes; ++me) {
    const Distribution rows(n, nb, processes, me);
    for (std::int64_t l = 0; l < rows.local_size(); ++l)
      whole[static_cast<std::size_t>(rows.global({l}).value)] =
          after[static_cast<std::size_t>(me)][static_cast<std::size_t>(l)];
  }
  return whole;
}

}  // namespace

TEST_CASE("moves of rows equal the exchanges of pivoting one after the other") {
  std::mt19937 random(3);
  for (const std::int64_t n : {1, 2, 9, 40})
    for (const std::int64_t nb : {1, 3, 8, 64})
      for (const int processes : {1, 2, 3, 7})
        for (std::int64_t begin = 0; begin < n; begin += 5)
          for (int kind = 0; kind < 4; ++kind) {
            const std::int64_t width = std::min<std::int64_t>(6, n - begin);
            std::vector<std::int64_t> pivots;
            for (std::int64_t j = begin; j < begin + width; ++j)
              pivots.push_back(kind == 0   ? j
                               : kind == 1 ? n - 1
                               : kind == 2 ? std::max(j, n - 1 - (j - begin))
                                           : std::uniform_int_distribution(j, n - 1)(random));
            std::vector<std::int64_t> expected(static_cast<std::size_t>(n));
            std::iota(expected.begin(), expected.end(), 0);
            for (std::size_t j = 0; j < pivots.size(); ++j)
              std::swap(expected[static_cast<std::size_t>(begin) + j],
                        expected[static_cast<std::size_t>(pivots[j])]);
            CAPTURE(n, nb, processes, begin, kind);
            CHECK(apply(pivots, begin, n, nb, processes) == expected);
          }
}

TEST_CASE("rows that stay where they are do not move") {
  const RowMoves none = plan_row_moves(std::vector<std::int64_t>{4, 5, 6}, {4}, {20, 3, 2, 1});
  CHECK(none.empty());
}

TEST_CASE("undoing the exchanges brings every row back") {
  std::mt19937 random(5);
  for (const std::int64_t n : {1, 2, 9, 40})
    for (const std::int64_t nb : {1, 3, 64})
      for (const int processes : {1, 2, 7}) {
        const std::int64_t begin = n / 3;
        std::vector<std::int64_t> pivots;
        for (std::int64_t i = begin; i < std::min(n, begin + 11); ++i)
          pivots.push_back(std::uniform_int_distribution<std::int64_t>(i, n - 1)(random));
        CAPTURE(n, nb, processes);
        const auto there = apply(pivots, begin, n, nb, processes);
        const auto back = apply(pivots, begin, n, nb, processes, Exchanges::undo);
        // there[i] is the row that moved to place i; back[i] is the place from which row i comes.
        for (std::int64_t i = 0; i < n; ++i)
          CHECK(there[static_cast<std::size_t>(back[static_cast<std::size_t>(i)])] == i);
      }
}
}  // namespace speedwell::test::row_moves_tests
