// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/panel_broadcast.hpp"

#include <speedwell/error.hpp>

namespace speedwell::test::broadcast_schedule_tests {
namespace {

constexpr std::int64_t MiB = std::int64_t{1} << 20;
constexpr BroadcastMethod methods[] = {
    BroadcastMethod::ring,        BroadcastMethod::ring_modified,
    BroadcastMethod::two_ring,    BroadcastMethod::two_ring_modified,
    BroadcastMethod::spread_roll, BroadcastMethod::spread_roll_modified};

/// The schedule of every rank, indexed by rank.
using Schedules = std::vector<std::vector<SegmentRoute>>;

Schedules schedules(BroadcastMethod method, std::int64_t bytes, int ranks) {
  Schedules all;
  for (int rank = 0; rank < ranks; ++rank)
    all.push_back(broadcast_schedule(method, bytes, ranks, rank));
  return all;
}

bool covers(std::vector<SegmentRoute> routes, std::int64_t bytes) {
  std::sort(routes.begin(), routes.end(),
            [](const auto& a, const auto& b) { return a.offset < b.offset; });
  std::int64_t end = 0;
  for (const SegmentRoute& route : routes) {
    if (route.offset != end || route.length <= 0) return false;
    end += route.length;
  }
  return end == bytes;
}

/// For each pair of ranks, (segment, length) of the messages between them, in the order in which
/// one of the two sends or receives them.
using Messages = std::map<std::pair<int, int>, std::vector<std::pair<int, std::int64_t>>>;

Messages sent(const Schedules& all) {
  Messages messages;
  for (int rank = 0; rank < std::ssize(all); ++rank)
    for (const SegmentRoute& route : all[rank])
      for (const int to : route.to) messages[{rank, to}].push_back({route.segment, route.length});
  return messages;
}

Messages received(const Schedules& all) {
  Messages messages;
  for (int rank = 0; rank < std::ssize(all); ++rank)
    for (const SegmentRoute& route : all[rank])
      if (route.from >= 0) messages[{route.from, rank}].push_back({route.segment, route.length});
  return messages;
}

bool same_segments(const Schedules& all) {
  std::map<int, std::pair<std::int64_t, std::int64_t>> known;
  for (const auto& routes : all)
    for (const SegmentRoute& r : routes)
      if (known.try_emplace(r.segment, r.offset, r.length).first->second !=
          std::pair(r.offset, r.length))
        return false;
  return true;
}

/// Lets every rank pass on the segments that it has, until no segment moves. Returns (rank,
/// segment) of every segment that arrived.
std::set<std::pair<int, int>> simulate(const Schedules& all) {
  std::set<std::pair<int, int>> held;
  std::vector<std::pair<int, const SegmentRoute*>> pending;
  for (int rank = 0; rank < std::ssize(all); ++rank)
    for (const SegmentRoute& route : all[rank]) {
      pending.emplace_back(rank, &route);
      if (route.from < 0) held.insert({rank, route.segment});
    }
  for (bool moved = true; moved;)
    moved = std::erase_if(pending, [&](const auto& p) {
              const auto& [rank, route] = p;
              if (!held.contains({rank, route->segment})) return false;
              for (const int to : route->to) held.insert({to, route->segment});
              return true;
            }) > 0;
  return held;
}

std::int64_t bytes_sent(const std::vector<SegmentRoute>& routes) {
  std::int64_t sum = 0;
  for (const SegmentRoute& route : routes) sum += route.length * std::ssize(route.to);
  return sum;
}

}  // namespace

TEST_CASE("every byte reaches every rank exactly once", "[comm]") {
  const auto method = GENERATE(from_range(std::begin(methods), std::end(methods)));
  const auto bytes = GENERATE(as<std::int64_t>{}, 1, 13, 4096, 4097, 30000, MiB - 1, MiB,
                              2 * MiB - 1, 5 * MiB + 3, 300 * MiB + 1, 5000 * MiB + 7);
  const int ranks = GENERATE(2, 3, 4, 5, 6, 7, 8, 9, 150, 300);
  CAPTURE(name(method), bytes, ranks);
  const Schedules all = schedules(method, bytes, ranks);

  REQUIRE(same_segments(all));
  REQUIRE(sent(all) == received(all));
  std::set<int> segments;
  for (const SegmentRoute& route : all[0]) {
    REQUIRE(route.from == -1);
    segments.insert(route.segment);
  }
  for (int rank = 1; rank < ranks; ++rank) {
    REQUIRE(covers(all[rank], bytes));
    REQUIRE(std::all_of(all[rank].begin(), all[rank].end(),
                        [&](const SegmentRoute& r) { return r.from >= 0 && r.from != rank; }));
  }
  REQUIRE(simulate(all).size() == segments.size() * ranks);
  REQUIRE(segments.size() <= 200);
  REQUIRE(*segments.rbegin() == static_cast<int>(segments.size()) - 1);
}

TEST_CASE("a schedule is empty for an empty panel and for a single rank", "[comm]") {
  const auto method = GENERATE(from_range(std::begin(methods), std::end(methods)));
  for (int ranks = 1; ranks < 10; ++ranks)
    for (int rank = 0; rank < ranks; ++rank)
      CHECK(broadcast_schedule(method, 0, ranks, rank).empty());
  CHECK(broadcast_schedule(method, 5 * MiB, 1, 0).empty());
}

TEST_CASE("a ring sends a small panel whole and a large one in pieces", "[comm]") {
  const auto method = GENERATE(BroadcastMethod::ring, BroadcastMethod::ring_modified,
                               BroadcastMethod::two_ring, BroadcastMethod::two_ring_modified);
  CHECK(broadcast_schedule(method, 13, 5, 4).size() == 1);
  CHECK(broadcast_schedule(method, MiB + 1, 5, 4).size() == 1);
  CHECK(broadcast_schedule(method, 16 * MiB, 5, 4).size() == 16);
  CHECK(broadcast_schedule(method, 4000 * MiB, 5, 4).size() == 200);
}

TEST_CASE("the root sends the panel once for each ring", "[comm]") {
  const std::int64_t bytes = 5 * MiB + 3;
  const auto by_root = [&](BroadcastMethod method, int ranks) {
    return bytes_sent(broadcast_schedule(method, bytes, ranks, 0));
  };
  for (const BroadcastMethod method : methods) CHECK(by_root(method, 2) == bytes);
  for (int ranks = 3; ranks < 10; ++ranks) {
    CHECK(by_root(BroadcastMethod::ring, ranks) == bytes);
    CHECK(by_root(BroadcastMethod::spread_roll, ranks) == bytes);
    CHECK(by_root(BroadcastMethod::ring_modified, ranks) == 2 * bytes);
    CHECK(by_root(BroadcastMethod::spread_roll_modified, ranks) == 2 * bytes);
    CHECK(by_root(BroadcastMethod::two_ring, ranks) == 2 * bytes);
    CHECK(by_root(BroadcastMethod::two_ring_modified, ranks) == (ranks < 5 ? 2 : 3) * bytes);
  }
}

TEST_CASE("rings pass a panel on between the same ranks as HPL's", "[comm]") {
  // The ranks from which ranks 1, 2, ... get a panel of one segment.
  const auto senders = [](BroadcastMethod method, int ranks) {
    std::vector<int> from;
    for (int rank = 1; rank < ranks; ++rank)
      from.push_back(broadcast_schedule(method, 13, ranks, rank).at(0).from);
    return from;
  };
  using Ranks = std::vector<int>;
  CHECK(senders(BroadcastMethod::ring, 5) == Ranks{0, 1, 2, 3});
  CHECK(senders(BroadcastMethod::ring_modified, 5) == Ranks{0, 0, 2, 3});
  CHECK(senders(BroadcastMethod::two_ring, 2) == Ranks{0});
  CHECK(senders(BroadcastMethod::two_ring, 3) == Ranks{0, 0});
  CHECK(senders(BroadcastMethod::two_ring, 4) == Ranks{0, 0, 2});
  CHECK(senders(BroadcastMethod::two_ring, 7) == Ranks{0, 1, 2, 0, 4, 5});
  CHECK(senders(BroadcastMethod::two_ring, 8) == Ranks{0, 1, 2, 0, 4, 5, 6});
  CHECK(senders(BroadcastMethod::two_ring_modified, 2) == Ranks{0});
  CHECK(senders(BroadcastMethod::two_ring_modified, 3) == Ranks{0, 0});
  CHECK(senders(BroadcastMethod::two_ring_modified, 4) == Ranks{0, 0, 2});
  CHECK(senders(BroadcastMethod::two_ring_modified, 5) == Ranks{0, 0, 0, 3});
  CHECK(senders(BroadcastMethod::two_ring_modified, 8) == Ranks{0, 0, 2, 0, 4, 5, 6});
}

TEST_CASE("rank 1 has the panel first in a modified method and passes nothing on", "[comm]") {
  const auto method = GENERATE(BroadcastMethod::ring_modified, BroadcastMethod::two_ring_modified,
                               BroadcastMethod::spread_roll_modified);
  for (int ranks = 2; ranks < 10; ++ranks) {
    const Schedules all = schedules(method, 5 * MiB + 3, ranks);
    CHECK(bytes_sent(all[1]) == 0);
    for (std::size_t i = 0; i < all[1].size(); ++i) CHECK(all[0][i].to == std::vector{1});
  }
}

TEST_CASE("spread and roll gives every rank a part of the panel at once", "[comm]") {
  for (int ranks = 3; ranks < 10; ++ranks) {
    std::set<int> first;
    for (const SegmentRoute& r : broadcast_schedule(BroadcastMethod::spread_roll, MiB, ranks, 0))
      first.insert(r.to.begin(), r.to.end());
    CHECK(std::ssize(first) == ranks - 1);
  }
}

TEST_CASE("modified spread and roll serves rank 1 with the whole panel first", "[comm]") {
  for (int ranks = 3; ranks < 10; ++ranks) {
    const auto root = broadcast_schedule(BroadcastMethod::spread_roll_modified, MiB, ranks, 0);
    const auto spread = std::find_if(root.begin(), root.end(),
                                     [](const SegmentRoute& r) { return r.to != std::vector{1}; });
    std::set<int> others;
    for (auto route = spread; route != root.end(); ++route)
      others.insert(route->to.begin(), route->to.end());
    CHECK(spread - root.begin() == ranks - 2);
    CHECK(std::ssize(others) == ranks - 2);
    CHECK_FALSE(others.contains(1));
  }
}

TEST_CASE("every broadcast has one name, and parse() finds it by that name", "[comm]") {
  std::set<std::string_view> names{name(BroadcastMethod::ibcast)};
  for (const BroadcastMethod method : methods) {
    names.insert(name(method));
    CHECK(parse<BroadcastMethod>(name(method)) == method);
  }
  CHECK(names.size() == std::size(methods) + 1);
  CHECK(parse<BroadcastMethod>("2ringM") == BroadcastMethod::two_ring_modified);
  CHECK(parse<BroadcastMethod>("longM") == BroadcastMethod::spread_roll_modified);
}

TEST_CASE("a schedule for arguments that are not allowed is refused", "[comm]") {
  CHECK_THROWS_AS(broadcast_schedule(BroadcastMethod::ibcast, 1, 2, 0), UsageError);
  CHECK_THROWS_AS(broadcast_schedule(BroadcastMethod::ring, -1, 2, 0), UsageError);
  CHECK_THROWS_AS(broadcast_schedule(BroadcastMethod::ring, 1, 2, 2), UsageError);
  CHECK_THROWS_AS(broadcast_schedule(BroadcastMethod::ring, 1, 2, -1), UsageError);
}
}  // namespace speedwell::test::broadcast_schedule_tests
