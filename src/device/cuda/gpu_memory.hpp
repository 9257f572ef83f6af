// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The memory that a device has taken from CUDA. A timed run takes none: what its warm-up has freed
/// is kept for it.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>

#include "device/buffer.hpp"

namespace speedwell {

/// Memory of a GPU. Lives as long as a Buffer of it. CUDA's own pools (cudaMallocAsync) are not
/// used: their memory has no cudaIpcMemHandle_t, by which MPI and NCCL move messages within a node.
class GpuMemory : public std::enable_shared_from_this<GpuMemory> {
 public:
  GpuMemory() = default;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;
  ~GpuMemory() { free_kept(); }

  /// `bytes` bytes: those of the same size that are kept, or new ones, which the GPU does not use
  /// any more. Their owner calls before_free, unless that is empty, as it gives them back.
  /// @throws Fault "out of memory: ..."
  Buffer allocate(std::int64_t bytes, std::function<void()> before_free = {});
  /// Whether what is freed from now on is kept. What is kept is freed where memory runs short.
  void keep(bool on);
  /// The most bytes at once that CUDA has given, kept ones with them.
  std::int64_t most() const { return most_; }

 private:
  void* take(std::int64_t bytes);
  void give_back(void* data, std::int64_t bytes);
  void free_kept();

  bool keeps_ = false;
  std::multimap<std::int64_t, void*> kept_;  // by their sizes
  bool may_be_used_ = false;                 // by the GPU: what is kept
  std::int64_t now_ = 0;
  std::int64_t most_ = 0;
};

/// Memory of the GPU that nobody keeps or counts.
Buffer allocate_on_gpu(std::int64_t bytes);

}  // namespace speedwell
