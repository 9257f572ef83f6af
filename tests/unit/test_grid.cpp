// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <speedwell/error.hpp>

#include "catch.hpp"
#include "grid/distribution.hpp"
#include "grid/grid_shape.hpp"
#include "grid/overlap.hpp"
#include "grid/step.hpp"

namespace speedwell::test::grid_tests {
namespace {

/// The block-cyclic distribution by its definition: blocks of nb are dealt to the processes in
/// turn, and each process has its indices in ascending order.
struct Dealt {
  std::vector<int> owner;                       // of each global index
  std::vector<std::int64_t> local;              // of each global index, on its owner
  std::vector<std::vector<std::int64_t>> held;  // of each process: its global indices

  Dealt(std::int64_t n, std::int64_t nb, int processes) : held(processes) {
    int turn = 0;
    std::int64_t left = nb;
    for (std::int64_t g = 0; g < n; ++g) {
      owner.push_back(turn);
      local.push_back(static_cast<std::int64_t>(held[turn].size()));
      held[turn].push_back(g);
      if (--left > 0) continue;
      left = nb;
      turn = (turn + 1) % processes;
    }
  }

  std::int64_t held_below(int process, std::int64_t g) const {
    return std::count_if(held[process].begin(), held[process].end(),
                         [g](std::int64_t mine) { return mine < g; });
  }
};

const std::vector<std::int64_t> all_blocks{1, 2, 3, 4, 5, 6, 7, 8, 9, 40, 41, 1000};

/// Calls check(n, nb, processes) for every size, block and number of processes of the test.
template <class Check>
void for_every_distribution(Check check) {
  for (std::int64_t n = 0; n <= 40; ++n)
    for (std::int64_t nb : all_blocks)
      for (int processes = 1; processes <= 5; ++processes) check(n, nb, processes);
}

std::string words(const Distribution& d, std::int64_t nb) {
  return "n " + std::to_string(d.size()) + ", nb " + std::to_string(nb) + ", process " +
         std::to_string(d.me()) + " of " + std::to_string(d.processes());
}

void check_conversions(const Distribution& d, const Dealt& dealt) {
  for (std::int64_t g = 0; g < d.size(); ++g) {
    REQUIRE(d.owner({g}) == dealt.owner[g]);
    REQUIRE(d.mine({g}) == (dealt.owner[g] == d.me()));
    if (!d.mine({g})) continue;
    REQUIRE(d.local({g}).value == dealt.local[g]);
    REQUIRE(d.global(d.local({g})).value == g);
  }
  const auto& held = dealt.held[d.me()];
  for (std::int64_t l = 0; l < d.local_size(); ++l) {
    REQUIRE(d.global({l}).value == held[l]);
    REQUIRE(d.owner(d.global({l})) == d.me());
    REQUIRE(d.local(d.global({l})).value == l);
  }
}

/// Checks that runs follow one another without a gap, and that no two neighbours could be one run.
void check_runs(const Distribution& d, const Dealt& dealt) {
  std::int64_t next = 0;
  std::int64_t end_before = -1;
  for (const Run& run : d.runs()) {
    REQUIRE(run.length > 0);
    REQUIRE(run.local.value == next);
    REQUIRE(run.global.value > end_before);
    if (d.processes() == 1) REQUIRE(run.length == d.size());
    for (std::int64_t k = 0; k < run.length; ++k)
      REQUIRE(dealt.held[d.me()][next + k] == run.global.value + k);
    next += run.length;
    end_before = run.global.value + run.length;
  }
  REQUIRE(next == d.local_size());
}

void check_step(const Step& step, const Distribution& rows, const Distribution& columns) {
  const std::int64_t block = step.begin.value / rows.block();
  REQUIRE((step.end.value - 1) / rows.block() == block);  // a step lies in one block
  REQUIRE(step.width() == step.end.value - step.begin.value);
  for (std::int64_t g = step.begin.value; g < step.end.value; ++g) {
    REQUIRE(rows.owner({g}) == step.owner_row);
    REQUIRE(columns.owner({g}) == step.owner_column);
  }
  REQUIRE(step.in_row == (rows.me() == step.owner_row));
  REQUIRE(step.in_column == (columns.me() == step.owner_column));
  REQUIRE(step.owns_diagonal() == (step.in_row && step.in_column));
}

void check_local_indices(const Step& step, const Distribution& rows, const Dealt& dealt_rows,
                         const Distribution& columns, const Dealt& dealt_columns) {
  REQUIRE(step.row.value == dealt_rows.held_below(rows.me(), step.begin.value));
  REQUIRE(step.trailing_row.value == dealt_rows.held_below(rows.me(), step.end.value));
  REQUIRE(step.column.value == dealt_columns.held_below(columns.me(), step.begin.value));
  REQUIRE(step.trailing_column.value == dealt_columns.held_below(columns.me(), step.end.value));
}

/// Checks that steps tile [0, n) in order, each as wide as is allowed.
void check_plan(std::int64_t n, std::int64_t nb, std::int64_t width, GridShape shape, int rank) {
  const GridPosition me = shape.position(rank);
  const Distribution rows(n, nb, shape.nprow, me.row);
  const Distribution columns(n, nb, shape.npcol, me.column);
  const Dealt dealt_rows(n, nb, shape.nprow);
  const Dealt dealt_columns(n, nb, shape.npcol);
  const StepSequence steps(rows, columns, width);
  std::int64_t end = 0;
  for (std::int64_t k = 0; k < steps.count(); ++k) {
    const Step step = steps[k];
    INFO("step " << k << ": [" << step.begin.value << ", " << step.end.value << ")");
    REQUIRE(step.index == k);
    REQUIRE(step.begin.value == end);
    const std::int64_t border = std::min((end / nb + 1) * nb, n);
    REQUIRE(step.end.value == std::min(end + width, border));
    check_step(step, rows, columns);
    check_local_indices(step, rows, dealt_rows, columns, dealt_columns);
    end = step.end.value;
  }
  REQUIRE(end == n);
}

}  // namespace

TEST_CASE("distribution: conversions are those of blocks dealt in turn") {
  for_every_distribution([](std::int64_t n, std::int64_t nb, int processes) {
    const Dealt dealt(n, nb, processes);
    for (int me = 0; me < processes; ++me) {
      const Distribution d(n, nb, processes, me);
      INFO(words(d, nb));
      REQUIRE(d.size() == n);
      REQUIRE(d.block() == std::min(nb, std::max<std::int64_t>(n, 1)));
      REQUIRE(d.processes() == processes);
      REQUIRE(d.me() == me);
      REQUIRE(d.local_size() == static_cast<std::int64_t>(dealt.held[me].size()));
      check_conversions(d, dealt);
    }
  });
}

TEST_CASE("distribution: every process knows the place of an index") {
  for_every_distribution([](std::int64_t n, std::int64_t nb, int processes) {
    const Dealt dealt(n, nb, processes);
    for (int me = 0; me < processes; ++me) {
      const Distribution d(n, nb, processes, me);
      CAPTURE(words(d, nb));
      for (std::int64_t g = 0; g < n; ++g) {
        const auto i = static_cast<std::size_t>(g);
        const Place place = d.place({g});
        REQUIRE((place.process == dealt.owner[i] && place.local.value == dealt.local[i]));
      }
    }
  });
}

TEST_CASE("distribution: local_begin counts the indices below") {
  for_every_distribution([](std::int64_t n, std::int64_t nb, int processes) {
    const Dealt dealt(n, nb, processes);
    for (int me = 0; me < processes; ++me) {
      const Distribution d(n, nb, processes, me);
      INFO(words(d, nb));
      for (std::int64_t g = 0; g <= n; ++g)
        REQUIRE(d.local_begin({g}).value == dealt.held_below(me, g));
      REQUIRE(d.local_begin({n + 1000}).value == d.local_size());
    }
  });
}

TEST_CASE("distribution: runs cover all local indices, in order") {
  for_every_distribution([](std::int64_t n, std::int64_t nb, int processes) {
    const Dealt dealt(n, nb, processes);
    std::int64_t sum = 0;
    for (int me = 0; me < processes; ++me) {
      const Distribution d(n, nb, processes, me);
      INFO(words(d, nb));
      check_runs(d, dealt);
      sum += d.local_size();
    }
    REQUIRE(sum == n);
  });
}

TEST_CASE("distribution: sizes beyond 32 bits") {
  const std::int64_t n = 10'000'000'019;
  std::int64_t sum = 0;
  for (int me = 0; me < 7; ++me) {
    const Distribution d(n, 1024, 7, me);
    sum += d.local_size();
    const LocalIndex last = LocalIndex{d.local_size() - 1};
    CHECK(d.local(d.global(last)) == last);
    CHECK(d.global(last).value < n);
    CHECK(n - d.global(last).value <= 7 * 1024);
  }
  CHECK(sum == n);
  const Distribution one(n, std::numeric_limits<std::int64_t>::max(), 3, 0);
  CHECK(one.local_size() == n);
}

TEST_CASE("distribution: impossible sizes, blocks and processes are refused") {
  CHECK_THROWS_AS(Distribution(-1, 1, 1, 0), UsageError);
  CHECK_THROWS_AS(Distribution(1, 0, 1, 0), UsageError);
  CHECK_THROWS_AS(Distribution(1, 1, 0, 0), UsageError);
  CHECK_THROWS_AS(Distribution(1, 1, 2, 2), UsageError);
  CHECK_THROWS_AS(Distribution(1, 1, 2, -1), UsageError);
}

TEST_CASE("plan: steps tile the matrix, by definition") {
  const std::vector<GridShape> shapes{{1, 1}, {1, 2}, {2, 1}, {2, 2}, {3, 2}, {2, 3}};
  for (std::int64_t n = 0; n <= 23; ++n)
    for (std::int64_t nb : {1, 2, 3, 5, 8, 30})
      for (std::int64_t width : {1, 2, 3, 5, 100})
        for (const GridShape& shape : shapes)
          for (int rank = 0; rank < shape.size(); ++rank) {
            INFO("n " << n << ", nb " << nb << ", width " << width << ", rank " << rank << " of "
                      << shape.nprow << " x " << shape.npcol);
            check_plan(n, nb, width, shape, rank);
          }
}

TEST_CASE("grid: ranks and positions are one to one, in the order of rows or columns") {
  for (int rows = 1; rows <= 5; ++rows)
    for (int columns = 1; columns <= 5; ++columns)
      for (GridOrder order : {GridOrder::row, GridOrder::column}) {
        const GridShape shape{rows, columns, order};
        std::set<std::pair<int, int>> seen;
        for (int rank = 0; rank < shape.size(); ++rank) {
          const GridPosition p = shape.position(rank);
          CHECK(shape.rank(p) == rank);
          CHECK((0 <= p.row && p.row < rows && 0 <= p.column && p.column < columns));
          seen.insert({p.row, p.column});
          const bool by_row = order == GridOrder::row;
          CHECK(p.row == (by_row ? rank / columns : rank % rows));
          CHECK(p.column == (by_row ? rank % columns : rank / rows));
        }
        CHECK(static_cast<int>(seen.size()) == rows * columns);
      }
}

TEST_CASE("grid: the squarest grid has the largest divisor up to the root as its rows") {
  for (int ranks = 1; ranks <= 400; ++ranks) {
    const GridShape shape = squarest(ranks, GridOrder::column);
    int expected = ranks;
    while (ranks % expected != 0 || expected > ranks / expected) --expected;
    CHECK(shape.nprow == expected);
    CHECK(shape.nprow * shape.npcol == ranks);
    CHECK(shape.order == GridOrder::column);
  }
  CHECK(squarest(std::numeric_limits<int>::max(), GridOrder::row).nprow == 1);  // a prime
}

namespace {

/// The process that holds index g, by the definition.
int holder(const CyclicDimension& d, std::int64_t g) {
  return static_cast<int>((g / d.block + d.first) % d.processes);
}

/// Checks that the overlaps of all pairs of processes, in pieces of `count` indices, name every
/// index once, on the right processes and at the right places.
void check_overlaps(const CyclicDimension& from, const CyclicDimension& to, std::int64_t count) {
  std::vector<int> seen(static_cast<std::size_t>(from.size), 0);
  for (int sender = 0; sender < from.processes; ++sender)
    for (int receiver = 0; receiver < to.processes; ++receiver) {
      const Distribution a = from.of(sender);
      const Distribution b = to.of(receiver);
      for (LocalIndex begin{0}; begin.value < b.local_size(); begin = begin + count) {
        const std::vector<Overlap> ranges = overlaps(a, b, begin, count);
        std::int64_t total = 0;
        LocalIndex next = begin;
        for (std::size_t r = 0; r < ranges.size(); ++r) {
          const Overlap& range = ranges[r];
          REQUIRE(range.length >= 1);
          REQUIRE(range.to >= next);
          next = range.to + range.length;
          REQUIRE(next <= begin + count);
          if (r > 0)  // maximal: otherwise one range
            REQUIRE((ranges[r - 1].from + ranges[r - 1].length != range.from ||
                     ranges[r - 1].to + ranges[r - 1].length != range.to));
          for (std::int64_t i = 0; i < range.length; ++i) {
            const std::int64_t g = b.global(range.to + i).value;
            REQUIRE(a.global(range.from + i).value == g);
            REQUIRE((holder(from, g) == sender && holder(to, g) == receiver));
            ++seen[static_cast<std::size_t>(g)];
          }
          total += range.length;
        }
        REQUIRE(total_length(ranges) == total);
      }
    }
  REQUIRE(std::count(seen.begin(), seen.end(), 1) == from.size);
}

}  // namespace

TEST_CASE("two distributions overlap in every index once") {
  for (const std::int64_t n : {0, 1, 2, 7, 24, 41})
    for (const std::int64_t small : {1, 2, 3, 5, 64})
      for (const std::int64_t large : {1, 4, 6, 16, 41})
        for (const int processes : {1, 2, 3, 5})
          for (const int first : {0, processes / 2, processes - 1})
            for (const std::int64_t count : {1, 3, 100}) {
              CAPTURE(n, small, large, processes, first, count);
              const CyclicDimension from{n, small, processes, first};
              const CyclicDimension to{n, large, processes, 0};
              check_overlaps(from, to, count);
              check_overlaps(to, from, count);
            }
}

TEST_CASE("overlaps of dimensions beyond 32 bits") {
  constexpr std::int64_t n = (std::int64_t{1} << 40) + 7;
  const Distribution from = CyclicDimension{n, 64, 2, 0}.of(1);
  const Distribution to = CyclicDimension{n, 256, 2, 0}.of(1);
  const LocalIndex near_end{to.local_size() / 256 * 256 - 256};
  const std::vector<Overlap> ranges = overlaps(from, to, near_end, 256);
  REQUIRE(ranges.size() == 2);
  for (const Overlap& range : ranges) {
    CHECK(range.length == 64);
    CHECK(from.global(range.from) == to.global(range.to));
  }
  CHECK((ranges[0].to - near_end == 64 && ranges[1].to - near_end == 192));
}
}  // namespace speedwell::test::grid_tests
