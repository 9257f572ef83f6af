// SPDX-License-Identifier: BSD-3-Clause
#include "comm/panel_broadcast.hpp"

#include <mpi.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <exception>
#include <limits>
#include <utility>

#include "comm/mpi_start.hpp"
#include "core/numbers.hpp"

namespace speedwell {

namespace {

// Short enough that all ranks of a ring are soon busy, long enough that latency does not matter.
constexpr std::int64_t kSegmentBytes = std::int64_t{1} << 20;
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kMaxSegments = 200;
// Their product is below 32767, the smallest MPI_TAG_UB that MPI allows.
constexpr int kTagsPerPanel = 256;
constexpr int kPanelsInFlight = 64;
constexpr std::int64_t kCollectiveBytes = (std::int64_t{1} << 30) - kPage;

/// Ranks first, first + 1, ..., first + count - 1; each passes segments on to the next. All
/// segments enter at the first rank. If `rotating`, segment s enters at rank s mod count of the
/// ring, and the last rank passes on to the first.
struct Ring {
  int first;
  int count;
  bool rotating;
};

bool is_modified(BroadcastMethod method) {
  return method == BroadcastMethod::ring_modified || method == BroadcastMethod::two_ring_modified ||
         method == BroadcastMethod::spread_roll_modified;
}

bool rolls(BroadcastMethod method) {
  return method == BroadcastMethod::spread_roll || method == BroadcastMethod::spread_roll_modified;
}

bool has_two(BroadcastMethod method) {
  return method == BroadcastMethod::two_ring || method == BroadcastMethod::two_ring_modified;
}

/// The rings of a method, in the order in which the root sends to them. Every rank but the root is
/// in one of them.
std::vector<Ring> rings(BroadcastMethod method, int ranks) {
  std::vector<Ring> all;
  const auto add = [&](int first, int end) {
    if (first < end) all.push_back({first, end - first, rolls(method)});
  };
  const int first = is_modified(method) ? 2 : 1;
  // The second ring of a modified method never includes rank 1, which may be all of the first half.
  const int second = has_two(method) ? std::max((ranks + 1) / 2, first) : ranks;
  if (first == 2) add(1, 2);
  add(first, second);
  add(second, ranks);
  return all;
}

std::int64_t segment_bytes(BroadcastMethod method, std::int64_t bytes, int ranks) {
  std::int64_t count = std::clamp<std::int64_t>(bytes / kSegmentBytes, 1, kMaxSegments);
  if (rolls(method))
    count = std::clamp<std::int64_t>(rings(method, ranks).back().count, count, kMaxSegments);
  return round_up(ceil_div(bytes, count), kPage);
}

/// Sets from which rank `rank` gets the route's segment, and to which it passes it on. Returns
/// false if `rank` is not in this ring.
bool place(const Ring& ring, int rank, SegmentRoute& route) {
  const int entry = ring.rotating ? route.segment % ring.count : 0;
  if (rank == 0) {
    route.to = {ring.first + entry};
    return true;
  }
  const int here = rank - ring.first;
  if (here < 0 || here >= ring.count) return false;
  const int hops = (here - entry + ring.count) % ring.count;
  route.from = hops == 0 ? 0 : ring.first + (here - 1 + ring.count) % ring.count;
  if (hops + 1 < ring.count) route.to = {ring.first + (here + 1) % ring.count};
  return true;
}

std::vector<SegmentRoute> cut(std::int64_t bytes, std::int64_t length) {
  std::vector<SegmentRoute> routes;
  for (std::int64_t offset = 0; offset < bytes; offset += length)
    routes.push_back(
        {offset, std::min(length, bytes - offset), static_cast<int>(routes.size()), -1, {}});
  return routes;
}

int int_count(std::int64_t bytes) {
  if (bytes > std::numeric_limits<int>::max())
    throw Fault("a panel of more than 400 GiB cannot be broadcast");
  return static_cast<int>(bytes);
}

}  // namespace

std::vector<SegmentRoute> broadcast_schedule(BroadcastMethod method, std::int64_t bytes, int ranks,
                                             int rank) {
  if (method == BroadcastMethod::ibcast || bytes < 0 || rank < 0 || rank >= ranks)
    throw UsageError("a broadcast schedule needs a ring, bytes >= 0 and 0 <= rank < ranks");
  std::vector<SegmentRoute> routes;
  if (bytes == 0 || ranks == 1) return routes;
  const auto segments = cut(bytes, segment_bytes(method, bytes, ranks));
  for (const Ring& ring : rings(method, ranks))
    for (SegmentRoute route : segments)
      if (place(ring, rank, route)) routes.push_back(route);
  return routes;
}

/// Receives segments and passes them on. receives_[i] belongs to routes_[i]; it is MPI_REQUEST_NULL
/// once the segment is here, on the root from the beginning.
class PanelBroadcast::Engine {
 public:
  Engine(const Communicator& comm, int root, std::span<std::byte> bytes, std::int64_t sequence)
      : comm_(comm.handle().as<MPI_Comm>()),
        rank_(comm.rank()),
        size_(comm.size()),
        root_(root),
        tag_(static_cast<int>(sequence % kPanelsInFlight) * kTagsPerPanel),
        bytes_(bytes) {}
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  void start(BroadcastMethod method) {
    const std::int64_t bytes = std::ssize(bytes_);
    if (method == BroadcastMethod::ibcast) return start_collective(bytes);
    plan(broadcast_schedule(method, bytes, size_, (rank_ - root_ + size_) % size_));
    for (std::size_t i = 0; i < routes_.size(); ++i)
      if (routes_[i].from >= 0) receive(routes_[i], receives_[i]);
    for (const SegmentRoute& route : routes_)
      if (route.from < 0) pass_on(route);
  }

  bool test() {
    int arrived = 0;
    do arrived = advance();
    while (arrived > 0);
    if (arrived != MPI_UNDEFINED) return false;
    int sent = 0;
    check_mpi(MPI_Testall(count(sends_), sends_.data(), &sent, MPI_STATUSES_IGNORE), "MPI_Testall");
    return sent;
  }

 private:
  static int count(const std::vector<MPI_Request>& v) { return static_cast<int>(v.size()); }
  std::byte* data(const SegmentRoute& route) const { return bytes_.data() + route.offset; }
  int absolute(int relative) const { return (relative + root_) % size_; }

  void plan(std::vector<SegmentRoute> routes) {
    routes_ = std::move(routes);
    receives_.assign(routes_.size(), MPI_REQUEST_NULL);
    arrived_.resize(routes_.size());
  }

  void receive(const SegmentRoute& route, MPI_Request& request) {
    check_mpi(MPI_Irecv(data(route), int_count(route.length), MPI_BYTE, absolute(route.from),
                        tag_ + route.segment, comm_, &request),
              "MPI_Irecv");
  }

  void pass_on(const SegmentRoute& route) {
    for (const int to : route.to)
      check_mpi(MPI_Isend(data(route), int_count(route.length), MPI_BYTE, absolute(to),
                          tag_ + route.segment, comm_, &sends_.emplace_back(MPI_REQUEST_NULL)),
                "MPI_Isend");
  }

  void start_collective(std::int64_t bytes) {
    plan(cut(bytes, kCollectiveBytes));
    for (std::size_t i = 0; i < routes_.size(); ++i)
      check_mpi(MPI_Ibcast(data(routes_[i]), int_count(routes_[i].length), MPI_BYTE, root_, comm_,
                           &receives_[i]),
                "MPI_Ibcast");
  }

  /// Passes on the segments that have arrived. Returns their number, or MPI_UNDEFINED if all had
  /// arrived before.
  int advance() {
    int arrived = 0;
    check_mpi(MPI_Testsome(count(receives_), receives_.data(), &arrived, arrived_.data(),
                           MPI_STATUSES_IGNORE),
              "MPI_Testsome");
    for (int i = 0; i < arrived; ++i) pass_on(routes_[arrived_[i]]);
    return arrived;
  }

  void abandon();

  MPI_Comm comm_;
  int rank_;
  int size_;
  int root_;
  int tag_;
  std::span<std::byte> bytes_;
  std::vector<SegmentRoute> routes_;
  std::vector<MPI_Request> receives_;
  std::vector<MPI_Request> sends_;
  std::vector<int> arrived_;
};

PanelBroadcast::Engine::~Engine() {
  if (mpi_is_over()) return;
  if (std::uncaught_exceptions() > 0) {
    abandon();
    return;
  }
  try {
    while (!test()) continue;
  } catch (const Error&) {  // a destructor cannot throw; the next call on comm_ will fail too
  }
}

/// Ends the broadcast while an exception unwinds the stack. Other ranks may never send, so receives
/// are cancelled. MPI cannot cancel a collective: that one is waited for.
void PanelBroadcast::Engine::abandon() {
  for (std::size_t i = 0; i < receives_.size(); ++i)
    if (routes_[i].from >= 0 && receives_[i] != MPI_REQUEST_NULL) MPI_Cancel(&receives_[i]);
  MPI_Waitall(count(receives_), receives_.data(), MPI_STATUSES_IGNORE);
  for (MPI_Request& send : sends_)
    if (send != MPI_REQUEST_NULL) MPI_Request_free(&send);
}

PanelBroadcast::PanelBroadcast() = default;
PanelBroadcast::PanelBroadcast(PanelBroadcast&&) noexcept = default;
PanelBroadcast& PanelBroadcast::operator=(PanelBroadcast&&) noexcept = default;
PanelBroadcast::~PanelBroadcast() = default;

PanelBroadcast::PanelBroadcast(BroadcastMethod method, const Communicator& comm, int root,
                               std::span<std::byte> bytes, std::int64_t sequence)
    : engine_(std::make_unique<Engine>(comm, root, bytes, sequence)) {
  engine_->start(method);
}

bool PanelBroadcast::test() {
  return !engine_ || engine_->test();
}

}  // namespace speedwell
