// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Memory that was taken from CUDA, on a GPU or pinned on the host. To take it and to free it wait
/// for the GPU, so that a timed run, and a second solve, find what was given back before.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "device/buffer.hpp"

namespace speedwell {

/// Memory of one place. Lives as long as a Buffer of it. CUDA's own pools (cudaMallocAsync) are not
/// used: their memory has no cudaIpcMemHandle_t, by which MPI and NCCL move messages within a node.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  enum class Place { gpu, pinned };
  explicit GpuMemory(Place place = Place::gpu) : place_(place) {}
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { free_kept(); }

  /// `bytes` bytes: those of the same size that are kept, or new ones, which the GPU does not use
  /// any more. @throws Fault "out of memory: ..."
  Buffer allocate(std::int64_t bytes);
  /// Whether what is freed from now on is kept. What is kept is freed where memory runs short.
  void keep(bool on);
  /// What is called as memory is given back, before it is freed or kept; empty: nothing.
  void before_free(std::function<void()> work) { before_free_ = std::move(work); }
  /// What says whether the GPU has no work that uses this memory; empty: nobody knows.
  void idle_when(std::function<bool()> is_idle) { is_idle_ = std::move(is_idle); }
  /// What frees memory elsewhere where it runs short here; it says whether there was any.
  void where_short(std::function<bool()> free_others) { free_others_ = std::move(free_others); }
  /// Nothing that is kept is used by the GPU any more.
  void settle();
  /// Frees what is kept, the largest first, until so many bytes are kept at most. False where there
  /// is nothing to free.
  bool free_kept(std::int64_t most = 0);
  std::int64_t kept() const { return kept_bytes_; }
  /// The most bytes at once that there were since restart(): those in use, and those that were kept
  /// since then.
  std::int64_t most() const { return most_; }
  void restart() {
    inherited_ = kept_bytes_;
    most_ = now_ - inherited_;
  }

 private:
  void* take(std::int64_t bytes);
  void give_back(void* data, std::int64_t bytes);

  struct Kept {
    void* data;
    bool settled;  // the GPU uses it no more
  };

  Place place_;
  bool keeps_ = false;
  std::function<void()> before_free_{};
  std::function<bool()> is_idle_{};
  std::function<bool()> free_others_{};
  std::multimap<std::int64_t, Kept> kept_;  // by their sizes
  std::int64_t kept_bytes_ = 0;
  std::int64_t now_ = 0;        // kept ones with them
  std::int64_t inherited_ = 0;  // of those that were kept before restart(), what is not taken yet
  std::int64_t most_ = 0;
};

/// Memory of the GPU that nobody keeps or counts.
Buffer allocate_on_gpu(std::int64_t bytes);

}  // namespace speedwell
