// SPDX-License-Identifier: BSD-3-Clause
/// Simulated NCCL: broadcasts and all-gathers go around a ring, each rank passing on what has
/// arrived; messages between pairs begin when both ranks' streams have come to them. A worker of
/// each stream lets the time of its messages pass.
#include <cublas_functions.h>
#include <nccl.h>
#include <nccl_functions.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cuda_emulation.hpp"
#include "paper/cuda/gpu.hpp"

namespace speedwell::paper {

namespace {

// A rank of a ring passes a message on in pieces of this size.
constexpr double piece_bytes = 1 << 20;
// A shorter message takes the latency of its way alone.
constexpr double short_bytes = 64 << 10;

// A rank's part in a broadcast. Positions count along the ring from the root on.
struct Stop {
  Rank* rank = nullptr;
  void* to = nullptr;
  double begun = 0;  // when the first piece is on its way here
  Signal here;       // the rank's stream has come to the broadcast
  Signal sending;    // the first piece is on its way here
  Signal arrived;    // all of it is here
};

struct Broadcast {
  Broadcast(double size, std::size_t stops) : bytes(size), stops_(stops) {}
  double bytes;
  std::vector<Stop> stops_;
  std::vector<std::byte> values;  // of a short message: control data, or pivots
  int left = 0;                   // ranks that are done

  // The root's values, as they are when its stream comes to the broadcast.
  void read() {
    if (bytes > short_bytes || !Memory::real(at(0).to)) return;
    const auto* from = static_cast<const std::byte*>(at(0).to);
    values.assign(from, from + static_cast<std::ptrdiff_t>(bytes));
  }
  void write(void* to) const {
    if (!values.empty() && Memory::real(to)) std::memcpy(to, values.data(), values.size());
  }

  Stop& at(std::size_t position) { return stops_[position]; }
  std::size_t size() const { return stops_.size(); }
};

// A message from one rank to another.
struct Message {
  double bytes = 0;
  Rank* sender = nullptr;
  Rank* receiver = nullptr;
  Signal sent;      // the sender's stream has come to it
  Signal expected;  // so has the receiver's
  Signal arrived;
};

// The messages from one rank to another, by their numbers.
struct Lane {
  std::map<std::int64_t, std::shared_ptr<Message>> open;  // that one of the two has named so far
  std::int64_t sends = 0;
  std::int64_t receives = 0;

  std::shared_ptr<Message> take(std::int64_t number) {
    if (auto known = open.extract(number)) return known.mapped();
    return open.emplace(number, std::make_shared<Message>()).first->second;
  }
};

// All ranks' parts go around the ring side by side.
struct AllGather {
  double bytes = 0;  // of a part
  std::vector<Rank*> ranks;
  std::vector<double> times;  // when each rank's stream has come; at last, when it is done
  int missing = 0;            // ranks whose streams have not come
  int left = 0;               // ranks that are not done
  Signal complete;            // all streams have come
};

struct Group {
  std::map<std::int64_t, std::shared_ptr<Broadcast>> broadcasts;
  std::map<std::int64_t, std::shared_ptr<AllGather>> all_gathers;
  std::map<std::pair<int, int>, Lane> lanes;
};

double first_piece(const Rank& from, const Rank& to, double bytes) {
  const LinkModel link = link_between(from, to);
  return link.latency + std::min(bytes, piece_bytes) / link.bandwidth;
}

// A rank's part: it waits for the rank before it, and sends to the rank behind it.
void pass_on(Broadcast& b, std::size_t position, Rank& rank) {
  const double step = rank.scenario->machine.collective;
  Stop& mine = b.at(position);
  if (position == 0) b.read();
  mine.here.raise();
  const bool last = position + 1 == b.size();
  if (b.bytes <= short_bytes) {
    if (position > 0) {
      Stop& before = b.at(position - 1);
      before.arrived.wait();
      sleep_until(before.begun + step + first_piece(*before.rank, rank, b.bytes));
    }
    mine.begun = simulated_time();
    if (position > 0) b.write(mine.to);
    mine.arrived.raise();
    return;
  }
  sleep_for(step);
  if (position > 0) mine.sending.wait();
  if (!last) {
    Stop& next = b.at(position + 1);
    next.here.wait();
    const double piece = first_piece(rank, *next.rank, b.bytes);
    if (position > 0) sleep_until(mine.begun + piece);
    next.begun = simulated_time();
    next.sending.raise();
    transfer(rank, *next.rank, b.bytes);
    if (position > 0 && !mine.arrived.raised()) {
      mine.arrived.wait();
      sleep_for(piece);
    }
    next.arrived.raise();
  }
  if (position > 0) mine.arrived.wait();
}

// In each step of the ring, a rank passes on the part that it has got in the step before.
void go_around(AllGather& g) {
  const std::size_t size = g.ranks.size();
  for (std::size_t step = 1; step < size; ++step) {
    const std::vector<double> before = g.times;
    for (std::size_t i = 0; i < size; ++i) {
      const std::size_t from = (i + size - 1) % size;
      const LinkModel link = link_between(*g.ranks[from], *g.ranks[i]);
      g.times[i] = std::max(before[i], before[from]) + g.ranks[i]->scenario->machine.collective +
                   link.latency + g.bytes / link.bandwidth;
    }
  }
}

// A rank's part in an all-gather.
void gather(AllGather& g, std::size_t mine) {
  g.times[mine] = simulated_time();
  if (--g.missing == 0) {
    go_around(g);
    g.complete.raise();
  }
  g.complete.wait();
  sleep_until(g.times[mine]);
}

// Lets the time of one stream's messages pass, one after the other.
class Worker {
 public:
  explicit Worker(Rank& rank) {
    start_worker(rank, [state = state_] {
      for (;;) {
        if (state->jobs.empty()) {
          state->more = Signal();
          state->more.wait();
        }
        const auto [time, work] = std::move(state->jobs.front());
        state->jobs.pop_front();
        if (!work) return;
        sleep_until(time);
        work();
      }
    });
    rank.at_end.emplace_back([state = state_] {
      state->jobs.emplace_back(0, nullptr);
      state->more.raise();
    });
  }
  void add(double time, std::function<void()> work) {
    state_->jobs.emplace_back(time, std::move(work));
    state_->more.raise();
  }

 private:
  struct State {
    std::deque<std::pair<double, std::function<void()>>> jobs;
    Signal more;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

std::map<std::pair<const Rank*, int>, Worker>& workers() {
  static std::map<std::pair<const Rank*, int>, Worker> all;
  return all;
}

// Gives the stream an operation that the stream's worker does.
void in_stream(cudaStream_t stream, std::function<void()> work) {
  Rank& rank = *stream->rank;
  const int number = stream->number;
  rank.owe(rank.device().launch);
  Worker& worker = workers().try_emplace({&rank, number}, rank).first->second;
  rank.timeline->pause(number, rank.now(),
                       [&rank, &worker, number, work = std::move(work)](double time) {
                         worker.add(time, [&rank, number, work] {
                           work();
                           rank.timeline->resume(number, simulated_time());
                         });
                       });
  stream->last = nullptr;
}

std::map<std::int64_t, std::shared_ptr<Group>>& groups() {
  static std::map<std::int64_t, std::shared_ptr<Group>> all;
  return all;
}

}  // namespace

}  // namespace speedwell::paper

using namespace speedwell::paper;

struct ncclComm {
  std::shared_ptr<Group> group;
  int ranks;
  int rank;
  std::int64_t broadcasts = 0;
  std::int64_t all_gathers = 0;
  // Messages between ncclGroupStart and ncclGroupEnd.
  std::vector<std::pair<std::shared_ptr<Message>, bool>> open{};  // true: sent
  cudaStream_t stream = nullptr;
};

namespace {
// The communicator of each rank's open group.
std::map<const Rank*, ncclComm*>& grouped() {
  static std::map<const Rank*, ncclComm*> open;
  return open;
}
}  // namespace

ncclResult_t ncclGetVersion(int* version) {
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}
ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  static std::int64_t made = 0;
  *id = {};
  std::memcpy(id->internal, &++made, sizeof(made));
  return ncclSuccess;
}
ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  std::int64_t number = 0;
  std::memcpy(&number, id.internal, sizeof(number));
  std::shared_ptr<Group>& group = groups()[number];
  if (!group) group = std::make_shared<Group>();
  *comm = new ncclComm{group, ranks, rank};
  self().connected = true;
  return ncclSuccess;
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  delete comm;
  return ncclSuccess;
}
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  return ncclCommDestroy(comm);
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* error) {
  *error = ncclSuccess;
  return ncclSuccess;
}
ncclResult_t ncclBroadcast(const void*, void* to, std::size_t count, ncclDataType_t, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  const std::int64_t number = comm->broadcasts++;
  auto& open = comm->group->broadcasts;
  std::shared_ptr<Broadcast>& place = open[number];
  if (!place)
    place = std::make_shared<Broadcast>(static_cast<double>(count),
                                        static_cast<std::size_t>(comm->ranks));
  const std::shared_ptr<Broadcast> broadcast = place;
  const auto position = static_cast<std::size_t>((comm->rank - root + comm->ranks) % comm->ranks);
  broadcast->at(position).rank = stream->rank;
  broadcast->at(position).to = to;
  in_stream(stream, [broadcast, position, rank = stream->rank, group = comm->group, number] {
    pass_on(*broadcast, position, *rank);
    if (++broadcast->left == static_cast<int>(broadcast->size())) group->broadcasts.erase(number);
  });
  return ncclSuccess;
}
// What it brings is not read in a simulation.
ncclResult_t ncclAllGather(const void*, void*, std::size_t count, ncclDataType_t, ncclComm_t comm,
                           cudaStream_t stream) {
  const std::int64_t number = comm->all_gathers++;
  std::shared_ptr<AllGather>& place = comm->group->all_gathers[number];
  if (!place) {
    const auto size = static_cast<std::size_t>(comm->ranks);
    place = std::make_shared<AllGather>(AllGather{static_cast<double>(count),
                                                  std::vector<Rank*>(size),
                                                  std::vector<double>(size),
                                                  comm->ranks,
                                                  comm->ranks,
                                                  {}});
  }
  const auto mine = static_cast<std::size_t>(comm->rank);
  place->ranks[mine] = stream->rank;
  in_stream(stream, [all = place, mine, group = comm->group, number] {
    gather(*all, mine);
    if (--all->left == 0) group->all_gathers.erase(number);
  });
  return ncclSuccess;
}
ncclResult_t ncclSend(const void*, std::size_t count, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  auto& lane = comm->group->lanes[{comm->rank, peer}];
  const auto message = lane.take(lane.sends++);
  message->bytes = static_cast<double>(count);
  message->sender = stream->rank;
  comm->open.emplace_back(message, true);
  comm->stream = stream;
  grouped()[stream->rank] = comm;
  return ncclSuccess;
}
ncclResult_t ncclRecv(void*, std::size_t, ncclDataType_t, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  auto& lane = comm->group->lanes[{peer, comm->rank}];
  const auto message = lane.take(lane.receives++);
  message->receiver = stream->rank;
  comm->open.emplace_back(message, false);
  comm->stream = stream;
  grouped()[stream->rank] = comm;
  return ncclSuccess;
}
ncclResult_t ncclGroupStart() {
  grouped().erase(&self());
  return ncclSuccess;
}
// Sends go one after the other, to the first peer that is ready.
ncclResult_t ncclGroupEnd() {
  ncclComm* const comm = std::exchange(grouped()[&self()], nullptr);
  if (comm == nullptr) return ncclSuccess;
  in_stream(comm->stream, [messages = std::exchange(comm->open, {})] {
    sleep_for(self().scenario->machine.collective);
    for (const auto& [message, sends] : messages)
      (sends ? message->sent : message->expected).raise();
    for (const auto& [message, sends] : messages) {
      if (!sends) continue;
      message->expected.wait();
      transfer(*message->sender, *message->receiver, message->bytes);
      message->arrived.raise();
    }
    for (const auto& [message, sends] : messages)
      if (!sends) message->arrived.wait();
  });
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t) {
  return "an error of simulated NCCL";
}

// What finds NCCL and functions of cuBLAS, as <dlfcn.h> does.
void* speedwell::emulation::dlopen(const char*, int) {
  static int library = 0;
  return &library;
}
const char* speedwell::emulation::dlerror() {
  return "";
}
void* speedwell::emulation::dlsym(void*, const char* function) {
  for (const auto* known : {&nccl_functions(), &speedwell::emulation::cublas_functions()})
    if (const auto found = known->find(function); found != known->end()) return found->second;
  return nullptr;
}
