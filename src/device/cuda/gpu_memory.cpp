// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/gpu_memory.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include "device/cuda/check.hpp"
#include "device/out_of_memory.hpp"

namespace speedwell {

Buffer GpuMemory::allocate(std::int64_t bytes) {
  if (bytes == 0) return {};
  return {take(bytes), bytes,
          [memory = shared_from_this(), bytes](void* data) { memory->give_back(data, bytes); }};
}

void* GpuMemory::take(std::int64_t bytes) {
  if (const auto [first, last] = kept_.equal_range(bytes); first != last) {
    const auto kept = std::find_if(first, last, [](const auto& one) { return one.second.settled; });
    if (kept == last) {
      // What used it before may run still, and whoever takes it may write at once.
      if (!is_idle_ || !is_idle_()) cudaDeviceSynchronize();
      settle();
    }
    const auto taken = kept == last ? first : kept;
    void* const data = taken->second.data;
    kept_.erase(taken);
    kept_bytes_ -= bytes;
    inherited_ = std::max<std::int64_t>(inherited_ - bytes, 0);
    most_ = std::max(most_, now_ - inherited_);
    return data;
  }
  void* data = nullptr;
  const auto ask = [&] {
    const auto size = static_cast<std::size_t>(bytes);
    return place_ == Place::gpu ? cudaMalloc(&data, size) : cudaMallocHost(&data, size);
  };
  cudaError_t error = ask();
  if (error == cudaErrorMemoryAllocation) {
    cudaGetLastError();  // CUDA keeps the error until it is asked
    const bool own = free_kept();
    const bool of_others = free_others_ && free_others_();
    if (own || of_others) error = ask();
  }
  // The latter for sizes beyond all that the driver could map.
  if (error == cudaErrorMemoryAllocation || error == cudaErrorInvalidValue)
    throw out_of_memory(bytes, place_ == Place::gpu ? "could not be had on the GPU"
                                                    : "of pinned host memory could not be had");
  check(error, place_ == Place::gpu ? "cudaMalloc" : "cudaMallocHost");
  now_ += bytes;
  most_ = std::max(most_, now_ - inherited_);
  return data;
}

void GpuMemory::give_back(void* data, std::int64_t bytes) {
  if (before_free_) before_free_();
  kept_.emplace(bytes, Kept{data, false});
  kept_bytes_ += bytes;
  if (!keeps_) free_kept();
}

bool GpuMemory::free_kept(std::int64_t most) {
  const std::int64_t before = kept_bytes_;
  while (kept_bytes_ > most) {
    const auto largest = std::prev(kept_.end());
    const std::int64_t bytes = largest->first;
    void* const data = largest->second.data;
    kept_.erase(largest);
    kept_bytes_ -= bytes;
    now_ -= bytes;
    place_ == Place::gpu ? cudaFree(data) : cudaFreeHost(data);
  }
  inherited_ = std::min(inherited_, kept_bytes_);
  return kept_bytes_ < before;
}

void GpuMemory::settle() {
  for (auto& [bytes, kept] : kept_) kept.settled = true;
}

void GpuMemory::keep(bool on) {
  keeps_ = on;
  if (!on) free_kept();
}

Buffer allocate_on_gpu(std::int64_t bytes) {
  return std::make_shared<GpuMemory>()->allocate(bytes);
}

}  // namespace speedwell
