// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/peers.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <thread>
#include <utility>

#include "core/expects.hpp"
#include "device/cuda/check.hpp"

namespace speedwell {

namespace {

using nccl::api;

// While an exception unwinds the stack, drain() waits this long before it gives the groups up.
constexpr std::chrono::seconds patience{2};
// See Peers::wait().
constexpr int short_wait = 1000;
constexpr std::chrono::microseconds pause{20};

void check_nccl(nccl::Result result, const char* call, const char* file = __builtin_FILE(),
                int line = __builtin_LINE()) {
  check(result == nccl::success ? nullptr : api().get_error_string(result), call, file, line);
}

}  // namespace

class NcclGroup final : public PeerGroup {
 public:
  NcclGroup(std::shared_ptr<Peers> peers, std::span<const std::byte> bytes, int rank, int size,
            std::function<cudaStream_t(Queue&)> stream_of)
      : peers_(std::move(peers)),
        stream_of_(std::move(stream_of)),
        rank_(static_cast<std::size_t>(rank)),
        size_(static_cast<std::size_t>(size)) {
    nccl::UniqueId id{};
    std::memcpy(&id, bytes.data(), std::min(sizeof(id), bytes.size()));
    const auto wait = peers_->run_.waiting("ncclCommInitRank");
    check_nccl(api().comm_init_rank(&comm_, size, id, rank), "ncclCommInitRank");
    peers_->add(comm_);
  }
  NcclGroup(const NcclGroup&) = delete;
  NcclGroup& operator=(const NcclGroup&) = delete;
  // ncclCommDestroy waits for the peers. While an exception unwinds the stack, they may never call
  // it, so that the communicator is aborted instead.
  ~NcclGroup() override {
    if (!peers_->remove(comm_)) return;
    const auto wait = peers_->run_.waiting("ncclCommDestroy");
    std::uncaught_exceptions() == 0 ? api().comm_destroy(comm_) : api().comm_abort(comm_);
  }

  void broadcast(Queue& queue, std::span<std::byte> bytes, int root) override {
    peers_->require(comm_);
    if (bytes.empty()) return;
    const cudaStream_t stream = stream_of_(queue);
    const auto wait = peers_->run_.waiting("ncclBroadcast");
    check_nccl(
        api().broadcast(bytes.data(), bytes.data(), bytes.size(), nccl::int8, root, comm_, stream),
        "ncclBroadcast");
  }

  // In place: a rank sends its part from where the others' are received around it.
  void all_gather(Queue& queue, std::span<std::byte> parts) override {
    peers_->require(comm_);
    const std::size_t each = parts.size() / size_;
    SPEEDWELL_EXPECTS(each * size_ == parts.size());
    if (parts.empty()) return;
    const cudaStream_t stream = stream_of_(queue);
    const auto wait = peers_->run_.waiting("ncclAllGather");
    check_nccl(api().all_gather(parts.data() + rank_ * each, parts.data(), each, nccl::int8, comm_,
                                stream),
               "ncclAllGather");
  }

  // ncclGroupEnd is called even if a send or receive has failed, or NCCL's group would stay open.
  void exchange(Queue& queue, std::span<const PeerMessage> sends,
                std::span<const PeerMessage> receives) override {
    peers_->require(comm_);
    const cudaStream_t stream = stream_of_(queue);
    const auto wait = peers_->run_.waiting("ncclGroupEnd");
    check_nccl(api().group_start(), "ncclGroupStart");
    const nccl::Result sent = each(sends, api().send, stream);
    const nccl::Result received = each(receives, api().receive, stream);
    const nccl::Result ended = api().group_end();
    check_nccl(sent, "ncclSend");
    check_nccl(received, "ncclRecv");
    check_nccl(ended, "ncclGroupEnd");
  }

 private:
  // Starts all messages. Returns the first failure, or success.
  template <class Transfer>
  nccl::Result each(std::span<const PeerMessage> messages, Transfer transfer,
                    cudaStream_t stream) const {
    for (const auto& [peer, bytes] : messages)
      if (const nccl::Result result =
              bytes.empty() ? nccl::success
                            : transfer(bytes.data(), bytes.size(), nccl::int8, peer, comm_, stream);
          result != nccl::success)
        return result;
    return nccl::success;
  }

  std::shared_ptr<Peers> peers_;
  std::function<cudaStream_t(Queue&)> stream_of_;
  std::size_t rank_;
  std::size_t size_;
  nccl::Comm comm_ = nullptr;
};

PeerSupport peer_support_here() {
  if (!api().why_none.empty()) return {"", api().why_none};
  return {"NCCL " + nccl::version_text(api().version), ""};
}

std::vector<std::byte> make_peer_id() {
  nccl::UniqueId id{};
  check_nccl(api().get_unique_id(&id), "ncclGetUniqueId");
  const auto bytes = std::as_bytes(std::span(&id, 1));
  return {bytes.begin(), bytes.end()};
}

std::unique_ptr<PeerGroup> Peers::join(std::span<const std::byte> id, int rank, int size,
                                       std::function<cudaStream_t(Queue&)> stream_of) {
  return std::make_unique<NcclGroup>(shared_from_this(), id, rank, size, std::move(stream_of));
}

// A wait that is not over after so many queries pauses between two of them: where there are more
// ranks than cores, the threads that drive the GPU would wait for one that only asks.
void Peers::wait(const char* call, const std::function<cudaError_t()>& query,
                 const std::function<cudaError_t()>& block) {
  const auto wait = run_.waiting("the GPU");
  if (!connected()) return speedwell::check(block(), call);
  cudaError_t state = query();
  for (int turn = 0; state == cudaErrorNotReady; state = query(), ++turn) {
    check();
    if (turn < short_wait)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(pause);
  }
  speedwell::check(state, call);
}

void Peers::drain() noexcept {
  const auto wait = run_.waiting("the GPU");
  const auto begin = std::chrono::steady_clock::now();
  const auto is_over = [&] {
    return std::uncaught_exceptions() > 0 && std::chrono::steady_clock::now() - begin > patience;
  };
  while (connected() && !idle()) {
    if (failure_.empty()) failure_ = failure();
    if (!failure_.empty() || is_over()) return give_up();
    std::this_thread::yield();
  }
}

void Peers::add(const Lane& lane) {
  const std::lock_guard lock(mutex_);
  lanes_.push_back(&lane);
}

void Peers::remove(const Lane& lane) {
  const std::lock_guard lock(mutex_);
  std::erase(lanes_, &lane);
}

bool Peers::idle() const {
  return std::ranges::none_of(lanes_, [](const Lane* lane) {
    return cudaStreamQuery(lane->stream()) == cudaErrorNotReady;
  });
}

void Peers::end() {
  {
    const std::lock_guard lock(mutex_);
    ended_ = true;
  }
  give_up();
}

void Peers::add(nccl::Comm comm) {
  const std::lock_guard lock(mutex_);
  comms_.push_back(comm);
}

bool Peers::remove(nccl::Comm comm) {
  const std::lock_guard lock(mutex_);
  return std::erase(comms_, comm) > 0;
}

bool Peers::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

bool Peers::connected() const {
  const std::lock_guard lock(mutex_);
  return !comms_.empty() || ended_;
}

// The first error that NCCL reports for a group, in words, or "". The lock keeps end() from giving
// up a group meanwhile.
std::string Peers::failure() const {
  const std::lock_guard lock(mutex_);
  try {
    for (const nccl::Comm comm : comms_) {
      nccl::Result earlier = nccl::success;
      check_nccl(api().comm_get_async_error(comm, &earlier), "ncclCommGetAsyncError");
      check_nccl(earlier, "an earlier call of NCCL");
    }
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "";
}

// Throws a peer's error, if there is one. The groups are given up first, so that the streams end.
void Peers::check() {
  if (failure_.empty()) failure_ = failure();
  if (!failure_.empty()) {
    give_up();
    throw Fault(std::exchange(failure_, ""));
  }
  while (ended()) std::this_thread::sleep_for(patience);
}

void Peers::require(nccl::Comm comm) {
  check();
  const std::lock_guard lock(mutex_);
  if (std::find(comms_.begin(), comms_.end(), comm) == comms_.end())
    throw Fault("the connection with other GPUs was given up after an earlier fault");
}

// Errors do not matter, since the communicators are not used any more.
void Peers::give_up() {
  std::vector<nccl::Comm> comms;
  {
    const std::lock_guard lock(mutex_);
    comms.swap(comms_);
  }
  for (const nccl::Comm comm : comms) api().comm_abort(comm);
}

}  // namespace speedwell
