// SPDX-License-Identifier: BSD-3-Clause
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <numeric>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "comm/messages.hpp"
#include "comm/panel_broadcast.hpp"
#include "comm/process_grid.hpp"
#include "comm/run_watch.hpp"
#include "core/clock.hpp"
#include "world.hpp"

#include <speedwell/error.hpp>

namespace speedwell::test::comm_tests {
namespace {

constexpr std::int64_t MiB = std::int64_t{1} << 20;
constexpr BroadcastMethod methods[] = {BroadcastMethod::ibcast,
                                       BroadcastMethod::ring,
                                       BroadcastMethod::ring_modified,
                                       BroadcastMethod::two_ring,
                                       BroadcastMethod::two_ring_modified,
                                       BroadcastMethod::spread_roll,
                                       BroadcastMethod::spread_roll_modified};

/// Bytes that differ between places and between panels.
std::vector<std::byte> pattern(std::int64_t bytes, std::uint64_t seed) {
  std::vector<std::byte> all(bytes);
  std::uint64_t state = seed * 0x9e3779b97f4a7c15 + 1;
  for (std::byte& b : all) {
    state = state * 6364136223846793005 + 1442695040888963407;
    b = static_cast<std::byte>(state >> 56);
  }
  return all;
}

/// A panel that is broadcast, between two borders that must stay untouched.
class Parcel {
 public:
  Parcel(BroadcastMethod method, const Communicator& comm, int root, std::int64_t bytes,
         std::int64_t sequence)
      : expected_(pattern(bytes, sequence)), memory_(bytes + 2 * kBorder, kFill) {
    if (comm.rank() == root) std::copy(expected_.begin(), expected_.end(), panel().begin());
    broadcast_ = PanelBroadcast(method, comm, root, panel(), sequence);
  }

  bool test() { return broadcast_.test(); }
  void wait() {
    while (!broadcast_.test()) continue;
  }

  bool arrived() {
    const auto is_fill = [](std::byte b) { return b == kFill; };
    return std::equal(expected_.begin(), expected_.end(), panel().begin()) &&
           std::all_of(memory_.begin(), memory_.begin() + kBorder, is_fill) &&
           std::all_of(memory_.end() - kBorder, memory_.end(), is_fill);
  }

 private:
  static constexpr std::int64_t kBorder = 64;
  static constexpr std::byte kFill{0xa5};

  std::span<std::byte> panel() { return std::span(memory_).subspan(kBorder, expected_.size()); }

  std::vector<std::byte> expected_;
  std::vector<std::byte> memory_;
  PanelBroadcast broadcast_;
};

/// Starts the broadcasts of several panels at once, of different sizes and from different roots.
std::vector<Parcel> send_several(BroadcastMethod method, const Communicator& comm, int count,
                                 std::int64_t sequence) {
  static constexpr std::int64_t sizes[] = {MiB - 1, 13, 3 * MiB + 5, 0, 70000, 2 * MiB, 1};
  std::vector<Parcel> parcels;
  for (int i = 0; i < count; ++i, ++sequence)
    parcels.emplace_back(method, comm, static_cast<int>(sequence % comm.size()), sizes[i % 7],
                         sequence);
  return parcels;
}

bool all_arrived(std::vector<Parcel>& parcels) {
  return std::all_of(parcels.begin(), parcels.end(), [](Parcel& p) { return p.arrived(); });
}

}  // namespace

TEST_CASE("a panel arrives by every method from every root in every size", "[comm]") {
  const Communicator comm = world();
  std::int64_t sequence = 0;
  for (const BroadcastMethod method : methods)
    for (const std::int64_t bytes :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{13}, MiB - 1, 5 * MiB + 3})
      for (int root = 0; root < comm.size(); ++root) {
        CAPTURE(name(method), bytes, root);
        Parcel parcel(method, comm, root, bytes, sequence++);
        parcel.wait();
        REQUIRE(parcel.test());
        REQUIRE(parcel.arrived());
      }
}

TEST_CASE("several panels in flight are waited for in any common order", "[comm]") {
  const Communicator comm = world();
  const auto method = GENERATE(from_range(std::begin(methods), std::end(methods)));
  CAPTURE(name(method));
  std::vector<int> order(9);
  std::iota(order.begin(), order.end(), 0);
  std::mt19937 random(7);
  for (std::int64_t round = 0; round < 4; ++round) {
    std::vector<Parcel> parcels = send_several(method, comm, 9, 60 + 9 * round);
    for (const int i : order) parcels[i].wait();
    REQUIRE(all_arrived(parcels));
    std::shuffle(order.begin(), order.end(), random);
  }
}

TEST_CASE("several panels in flight are tested in another order by each rank", "[comm]") {
  const Communicator comm = world();
  const auto method = GENERATE(from_range(std::begin(methods), std::end(methods)));
  CAPTURE(name(method));
  std::vector<Parcel> parcels = send_several(method, comm, 14, 0);
  std::vector<int> open(parcels.size());
  std::iota(open.begin(), open.end(), 0);
  std::shuffle(open.begin(), open.end(), std::mt19937(comm.rank()));
  while (!open.empty()) std::erase_if(open, [&](int i) { return parcels[i].test(); });
  REQUIRE(all_arrived(parcels));
}

TEST_CASE("a rank starts the next panels while it still passes on earlier ones", "[comm]") {
  const Communicator comm = world();
  const auto method = GENERATE(from_range(std::begin(methods), std::end(methods)));
  CAPTURE(name(method));
  constexpr int ahead = 3;
  std::vector<std::optional<Parcel>> ring(ahead);
  for (int k = 0; k < 150 + ahead; ++k) {
    std::optional<Parcel>& slot = ring[k % ahead];
    if (slot) {
      slot->wait();
      REQUIRE(slot->arrived());
    }
    slot.reset();
    if (k < 150) slot.emplace(method, comm, k % comm.size(), 100000 + 7 * k, k);
    for (auto& other : ring)
      if (other) other->test();
  }
}

TEST_CASE("panels travel along rows and columns at once", "[comm]") {
  const Communicator comm = world();
  const auto order = GENERATE(GridOrder::row, GridOrder::column);
  const ProcessGrid grid(comm, squarest(comm.size(), order));
  for (const BroadcastMethod method : methods) {
    CAPTURE(name(method));
    std::vector<Parcel> along_row = send_several(method, grid.row(), 5, grid.me().row);
    std::vector<Parcel> along_column = send_several(method, grid.column(), 5, grid.me().column);
    for (int i = 0; i < 5; ++i) {
      along_row[i].wait();
      along_column[i].wait();
    }
    REQUIRE(all_arrived(along_row));
    REQUIRE(all_arrived(along_column));
  }
}

TEST_CASE("a broadcast can be moved, and its destructor waits for its messages", "[comm]") {
  const Communicator comm = world();
  for (const BroadcastMethod method : methods) {
    CAPTURE(name(method));
    const std::vector<std::byte> expected = pattern(3 * MiB, 1);
    std::vector<std::byte> panel(expected.size());
    if (comm.rank() == 0) panel = expected;
    {
      PanelBroadcast first(method, comm, 0, panel, 0);
      PanelBroadcast second = std::move(first);
      CHECK(first.test());
      first = std::move(second);
    }
    REQUIRE(panel == expected);
  }
  PanelBroadcast none;
  CHECK(none.test());
}

TEST_CASE("during an exception the destructor of a broadcast does not wait", "[comm]") {
  const Communicator comm = world();
  for (const BroadcastMethod method : methods) {
    if (method == BroadcastMethod::ibcast) continue;
    std::vector<std::byte> panel(3 * MiB);
    const auto fail = [&] {
      // The root never sends.
      PanelBroadcast broadcast;
      if (comm.rank() != 0) broadcast = PanelBroadcast(method, comm, 0, panel, 0);
      throw std::runtime_error("out of memory");
    };
    CHECK_THROWS_AS(fail(), std::runtime_error);
  }
  comm.barrier();
}

TEST_CASE("messages between all pairs arrive, in the order in which they were sent", "[comm]") {
  const Communicator comm = world();
  const auto value = [](int from, int to, int number, std::size_t i) {
    return static_cast<std::byte>(from * 31 + to * 7 + number * 3 + static_cast<int>(i % 11));
  };
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{1}, std::size_t{100000}}) {
    constexpr int count = 2;
    const auto place = [](int other, int number) {
      return static_cast<std::size_t>(other) * count + static_cast<std::size_t>(number);
    };
    std::vector<std::vector<std::byte>> out;
    std::vector<std::vector<std::byte>> in;
    Messages first(comm, Messages::first_tag);
    Messages messages(std::move(first));
    const auto buffer = [bytes](auto& list) -> std::vector<std::byte>& {
      return list.emplace_back(bytes);
    };
    for (int other = 0; other < comm.size(); ++other)
      for (int number = 0; number < count; ++number) {
        std::vector<std::byte>& data = buffer(out);
        for (std::size_t i = 0; i < bytes; ++i) data[i] = value(comm.rank(), other, number, i);
        buffer(in);
      }
    for (int other = 0; other < comm.size(); ++other)
      for (int number = 0; number < count; ++number)
        messages.receive(in[place(other, number)], other);
    for (int other = 0; other < comm.size(); ++other)
      for (int number = 0; number < count; ++number)
        messages.send(out[place(other, number)], other);
    while (!messages.test()) continue;
    bool right = true;
    for (int other = 0; other < comm.size(); ++other)
      for (int number = 0; number < count; ++number)
        for (std::size_t i = 0; i < bytes; ++i)
          right = right && in[place(other, number)][i] == value(other, comm.rank(), number, i);
    CHECK(right);
  }
}

TEST_CASE("during an exception the destructor of messages does not wait", "[comm]") {
  const Communicator comm = Communicator::duplicate(comm_world());
  std::vector<std::byte> never(8);
  const auto leave = [&] {
    Messages messages(comm, Messages::first_tag);
    messages.receive(never, comm.rank());
    throw std::runtime_error("on its way out");
  };
  CHECK_THROWS_AS(leave(), std::runtime_error);
}

TEST_CASE("collectives", "[comm]") {
  const Communicator comm = world();
  const int ranks = comm.size();
  const int me = comm.rank();

  SECTION("broadcast") {
    for (int root = 0; root < ranks; ++root) {
      std::vector<std::int64_t> values(1000, me == root ? 42 + root : 0);
      comm.broadcast(std::span(values), root);
      CHECK(values == std::vector<std::int64_t>(1000, 42 + root));
      comm.broadcast(std::span(values).first(0), root);
    }
  }
  SECTION("all_reduce") {
    CHECK(comm.all_reduce(me + 1.0, Reduction::sum) == ranks * (ranks + 1) / 2.0);
    CHECK(comm.all_reduce(std::int64_t{me}, Reduction::max) == ranks - 1);
    CHECK(comm.all_reduce(std::int64_t{me} - 5, Reduction::min) == -5);
    std::vector<double> values{1.0 * me, -1.0 * me};
    comm.all_reduce(std::span(values), Reduction::max);
    CHECK(values == std::vector<double>{ranks - 1.0, 0.0});
    std::vector<std::int64_t> large(3, (std::int64_t{1} << 40) + me);
    comm.all_reduce(std::span(large), Reduction::min);
    CHECK(large == std::vector<std::int64_t>(3, std::int64_t{1} << 40));
    comm.all_reduce(std::span<double>(), Reduction::sum);
  }
  SECTION("reduce_sum changes the root's values alone") {
    for (int root = 0; root < ranks; ++root) {
      std::vector<double> values{1.0, 1.0 * me};
      comm.reduce_sum(values, root);
      const std::vector<double> sums{1.0 * ranks, ranks * (ranks - 1) / 2.0};
      CHECK(values == (me == root ? sums : std::vector<double>{1.0, 1.0 * me}));
    }
  }
  SECTION("all_gather of equal lengths") {
    const std::vector<double> all = comm.all_gather(std::vector<double>{1.0 * me, 0.5});
    REQUIRE(std::ssize(all) == 2 * ranks);
    for (int r = 0; r < ranks; ++r) CHECK((all[2 * r] == r && all[2 * r + 1] == 0.5));
  }
  SECTION("all_gather of lengths that differ, none included") {
    std::vector<std::int64_t> counts(ranks);
    std::iota(counts.begin(), counts.end(), 0);
    std::vector<double> expected;
    for (int r = 0; r < ranks; ++r) expected.insert(expected.end(), r, 10.0 * r);
    std::vector<double> all(expected.size());
    comm.all_gather(std::vector<double>(me, 10.0 * me), all, counts);
    CHECK(all == expected);
    counts.push_back(1);
    CHECK_THROWS_AS(comm.all_gather(std::vector<double>(me), all, counts), Fault);
  }
  SECTION("all_gather of texts") {
    const std::vector<std::string> all = comm.all_gather(std::string(me, 'x') + "|");
    REQUIRE(std::ssize(all) == ranks);
    for (int r = 0; r < ranks; ++r) CHECK(all[r] == std::string(r, 'x') + "|");
    CHECK(comm.all_gather(std::string()) == std::vector<std::string>(ranks));
  }
}

TEST_CASE("all_to_all delivers a part from every rank to every rank, empty parts too", "[comm]") {
  const Communicator comm = world();
  const auto part = [](int from, int to, std::int64_t size) {
    std::vector<std::int64_t> values(static_cast<std::size_t>((from + 2 * to) % 4 * size));
    std::iota(values.begin(), values.end(), 1000 * from + to);
    return values;
  };
  for (const std::int64_t size : {0, 1, 100000}) {
    std::vector<std::vector<std::int64_t>> out(comm.size());
    for (int to = 0; to < comm.size(); ++to) out[to] = part(comm.rank(), to, size);
    const std::vector<std::vector<std::int64_t>> in = comm.all_to_all(out);
    REQUIRE(std::ssize(in) == comm.size());
    for (int from = 0; from < comm.size(); ++from)
      REQUIRE(in[from] == part(from, comm.rank(), size));
  }
  const std::vector<std::vector<char>> too_many(comm.size() + 1);
  CHECK_THROWS_AS(comm.all_to_all(too_many), Fault);
}

TEST_CASE("barrier_asleep waits without using processor time", "[comm]") {
  const Communicator all = world();
  const SteadyClock clock;  // the same clock for all ranks of a node
  all.barrier();
  const std::clock_t used = std::clock();  // processor time of this process only
  if (all.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(200));
  double came = clock.now();
  all.barrier_asleep();
  const double left = clock.now();
  CHECK(static_cast<double>(std::clock() - used) / CLOCKS_PER_SEC < 0.1);
  all.broadcast(std::span(&came, 1), 0);
  CHECK(left >= came);
}

TEST_CASE("communicators split and move", "[comm]") {
  const Communicator comm = world();
  Communicator part = comm.split(comm.rank() % 2, -comm.rank());
  CHECK(part.size() == (comm.size() + 1 - comm.rank() % 2) / 2);
  CHECK(part.rank() == part.size() - 1 - comm.rank() / 2);
  CHECK(comm.split_node().size() <= comm.size());

  const int size = part.size();
  Communicator moved = std::move(part);
  CHECK(moved.size() == size);
  CHECK(part.handle() == MPI_COMM_NULL);
  moved = Communicator::duplicate(comm.handle());
  CHECK(moved.all_reduce(std::int64_t{1}, Reduction::sum) == comm.size());
}

TEST_CASE("a failing call becomes a fault that names it", "[comm]") {
  const Communicator comm = world();
  int value = 0;
  CHECK_THROWS_AS(comm.broadcast(std::span(&value, 1), comm.size()), Fault);
  CHECK_THROWS_WITH(comm.broadcast(std::span(&value, 1), comm.size()),
                    ContainsSubstring("MPI_Bcast failed: "));
  CHECK_NOTHROW(check_mpi(MPI_SUCCESS, "MPI_Bcast"));
}

TEST_CASE("objects that are destroyed after MPI_Finalize do no harm", "[comm]") {
  static const Communicator late = world();
  static std::vector<std::byte> panel(100);
  static PanelBroadcast broadcast(BroadcastMethod::ring, late, 0, panel, 0);
  while (!broadcast.test()) continue;
  CHECK(broadcast.test());
}

TEST_CASE("host and version are named in one line each", "[comm]") {
  CHECK_FALSE(host_name().empty());
  CHECK_FALSE(mpi_version().empty());
  CHECK(mpi_version().find('\n') == std::string::npos);
}

TEST_CASE("a process grid numbers its ranks by row or by column", "[comm]") {
  const Communicator comm = world();
  const auto order = GENERATE(GridOrder::row, GridOrder::column);
  for (int rows = 1; rows <= comm.size(); ++rows) {
    if (comm.size() % rows != 0) continue;
    const GridShape shape{rows, comm.size() / rows, order};
    const ProcessGrid grid(comm, shape);
    const GridPosition me = shape.position(comm.rank());
    CHECK((grid.me().row == me.row && grid.me().column == me.column));
    CHECK((grid.row().size() == shape.npcol && grid.row().rank() == me.column));
    CHECK((grid.column().size() == shape.nprow && grid.column().rank() == me.row));
    CHECK((grid.all().size() == comm.size() && grid.all().rank() == comm.rank()));

    const std::int64_t n = 1000;
    const std::int64_t mine = grid.rows(n, 7).local_size() * grid.columns(n, 7).local_size();
    CHECK(comm.all_reduce(mine, Reduction::sum) == n * n);
    CHECK(grid.column().all_reduce(std::int64_t{me.column}, Reduction::max) == me.column);
    CHECK(grid.row().all_reduce(std::int64_t{me.row}, Reduction::min) == me.row);
  }
}

TEST_CASE("a process grid that does not fit the ranks is refused", "[comm]") {
  const Communicator comm = world();
  const int ranks = comm.size();
  CHECK_THROWS_AS(ProcessGrid(comm, {2, ranks}), UsageError);
  CHECK_THROWS_WITH(ProcessGrid(comm, {2, ranks}), "process grid 2 x " + std::to_string(ranks) +
                                                       " needs " + std::to_string(2 * ranks) +
                                                       " ranks, but " + std::to_string(ranks) +
                                                       " are running");
  CHECK_THROWS_AS(ProcessGrid(comm, {-1, -ranks}), UsageError);
  CHECK_THROWS_AS(ProcessGrid(comm, {0, ranks}), UsageError);
  CHECK_THROWS_AS(ProcessGrid(comm, {1 << 16, 1 << 16}), UsageError);
}

TEST_CASE("a watch names the ranks of rows and columns by their ranks in the grid", "[comm]") {
  const SteadyClock clock;
  const double never = 1e9;
  const RunWatch watch(comm_world(), clock, never);
  REQUIRE(watch.stalls() != nullptr);
  CHECK(RunWatch(comm_world(), clock, 0).stalls() == nullptr);
  const RunContext run(clock, watch.stalls());
  const Communicator all = Communicator::duplicate(comm_world(), run);
  const auto ranks = [](const Communicator& comm) {
    return std::vector<int>(comm.watched().begin(), comm.watched().end());
  };
  for (int p = 1; p <= all.size(); ++p)
    for (const GridOrder order : {GridOrder::row, GridOrder::column}) {
      if (all.size() % p != 0) continue;
      const GridShape shape{p, all.size() / p, order};
      const ProcessGrid grid(all, shape);
      std::vector<int> row;
      std::vector<int> column;
      for (int rank = 0; rank < all.size(); ++rank) {
        if (shape.position(rank).row == grid.me().row) row.push_back(rank);
        if (shape.position(rank).column == grid.me().column) column.push_back(rank);
      }
      if (order == GridOrder::row) CHECK(std::is_sorted(row.begin(), row.end()));
      CHECK(ranks(grid.row()) == row);
      CHECK(ranks(grid.column()) == column);
      CHECK(grid.all().watched().size() == static_cast<std::size_t>(all.size()));
      for (int i = 0; i < grid.row().size(); ++i) {
        REQUIRE(grid.row().watched(i).size() == 1);
        CHECK(grid.row().watched(i)[0] == row[static_cast<std::size_t>(i)]);
      }
      CHECK(&grid.row().run() == &run);
    }
  CHECK(ranks(all.in(RunContext::none())).empty());
  CHECK(ranks(world()).empty());
  CHECK(world().watched(0).empty());
}
}  // namespace speedwell::test::comm_tests
