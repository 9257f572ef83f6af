// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// GPUs that send to each other, by NCCL, and how the host waits for a GPU that waits for others.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "core/stall_watch.hpp"
#include "device/cuda/nccl_api.hpp"
#include "device/peer_group.hpp"

namespace lupine {

/// What this process has of NCCL.
PeerSupport peer_support_here();
std::vector<std::byte> make_peer_id();

/// The groups of one device. A GPU waits for a peer without end, and knows nothing of its failures:
/// so the host, whenever it waits for the GPU, asks NCCL for them, and gives the groups up if there
/// is one. Shared by all that waits.
class Peers : public std::enable_shared_from_this<Peers> {
 public:
  /// @param stream_of the stream of a queue
  std::unique_ptr<PeerGroup> join(std::span<const std::byte> id, int rank, int size,
                                  std::function<cudaStream_t(Queue&)> stream_of);
  /// Waits until `query` says something else than cudaErrorNotReady, by `block` where this GPU
  /// has no peers. @throws Fault for an error of a peer's
  void wait(const char* call, const std::function<cudaError_t()>& query,
            const std::function<cudaError_t()>& block);
  /// Before what waits inside of CUDA for all of the GPU, such as cudaFree: waits for the streams.
  /// After an error of a peer's, which the next call here throws, the groups are given up; and
  /// after a while on the way out with an exception, when the others may never come.
  void drain() noexcept;
  /// The streams that may wait for peers.
  void add(cudaStream_t stream);
  void remove(cudaStream_t stream);

  void set_stalls(StallWatch* stalls) { stalls_ = stalls; }
  /// Gives all groups up before the program is ended. From any thread; what waits in wait() never
  /// comes back.
  void end();

 private:
  friend class NcclGroup;
  void add(nccl::Comm comm);
  /// Whether it was still there: else it has been given up.
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
  std::vector<cudaStream_t> streams_;
  std::string failure_;  // of a peer, that nobody was told yet
  bool ended_ = false;
  StallWatch* stalls_ = nullptr;
};

}  // namespace lupine
