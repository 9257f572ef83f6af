// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Messages between GPUs by NCCL, and waits of the host for a GPU that may wait for its peers.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/run_context.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/nccl_api.hpp"
#include "device/peer_group.hpp"

namespace speedwell {

/// The NCCL library that this process can load, or why there is none.
PeerSupport peer_support_here();
/// A new group's identity: an ncclUniqueId. @throws Fault if NCCL fails
std::vector<std::byte> make_peer_id();

/// The peer groups of one device. A GPU waits for a peer without limit, even if the peer has
/// failed. So the host asks NCCL for errors whenever it waits for the GPU, and gives all groups up
/// after an error. Queues, events and groups of the device share this object.
class Peers : public std::enable_shared_from_this<Peers> {
 public:
  /// @param run records the waits
  explicit Peers(const RunContext& run) : run_(run) {}
  /// Makes the group of Device::join_peers. @param stream_of returns the stream of a queue
  std::unique_ptr<PeerGroup> join(std::span<const std::byte> id, int rank, int size,
                                  std::function<cudaStream_t(Queue&)> stream_of);
  /// Waits for the GPU: until `query` returns another code than cudaErrorNotReady, or, if this GPU
  /// has no peers, by the blocking call `block`. `call` names that call in errors.
  /// @throws Fault for an error of the GPU or of a peer
  void wait(const char* call, const std::function<cudaError_t()>& query,
            const std::function<cudaError_t()>& block);
  /// Waits for all lanes that may wait for peers. Must be called before CUDA calls that wait for
  /// the whole GPU, such as cudaFree. After a peer's error, it gives the groups up, and the next
  /// call of wait() throws that error. While an exception unwinds the stack, peers may never send:
  /// then it gives the groups up after 2 seconds.
  void drain() noexcept;
  /// Adds or removes a lane that may wait for peers.
  void add(const Lane& lane);
  void remove(const Lane& lane);

  /// Gives all groups up before the program is ended. May be called from any thread. After that, a
  /// call of wait() that would have to wait never returns.
  void end();

 private:
  friend class NcclGroup;
  void add(nccl::Comm comm);
  /// Forgets `comm`. Returns whether it was known; if not, it has been given up before.
  bool remove(nccl::Comm comm);
  bool connected() const;
  bool ended() const;
  bool idle() const;
  std::string failure() const;
  void check();
  void require(nccl::Comm comm);
  void give_up();

  mutable std::mutex mutex_;
  std::vector<nccl::Comm> comms_;
  std::vector<const Lane*> lanes_;
  std::string failure_;  // a peer's error that has not been thrown yet
  bool ended_ = false;
  const RunContext& run_;
};

}  // namespace speedwell
