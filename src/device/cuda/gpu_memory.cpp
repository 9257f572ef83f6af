// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/gpu_memory.hpp"

#include <speedwell/error.hpp>

#include <algorithm>
#include <utility>

#include "device/cuda/check.hpp"
#include "device/out_of_memory.hpp"

namespace speedwell {

Buffer GpuMemory::allocate(std::int64_t bytes, std::function<void()> before_free) {
  if (bytes == 0) return {};
  return {take(bytes), bytes,
          [memory = shared_from_this(), bytes, before = std::move(before_free)](void* data) {
            if (before) before();
            memory->give_back(data, bytes);
          }};
}

void* GpuMemory::take(std::int64_t bytes) {
  if (const auto kept = kept_.find(bytes); kept != kept_.end()) {
    void* const data = kept->second;
    kept_.erase(kept);
    // What used it before may run still, and whoever takes it may write at once.
    if (std::exchange(may_be_used_, false)) cudaDeviceSynchronize();
    return data;
  }
  void* data = nullptr;
  const auto ask = [&] { return cudaMalloc(&data, static_cast<std::size_t>(bytes)); };
  cudaError_t error = ask();
  if (error == cudaErrorMemoryAllocation && !kept_.empty()) {
    cudaGetLastError();  // CUDA keeps the error until it is asked
    free_kept();
    error = ask();
  }
  // The latter for sizes beyond all that the driver could map.
  if (error == cudaErrorMemoryAllocation || error == cudaErrorInvalidValue)
    throw out_of_memory(bytes, "could not be had on the GPU");
  check(error, "cudaMalloc");
  most_ = std::max(most_, now_ += bytes);
  return data;
}

void GpuMemory::give_back(void* data, std::int64_t bytes) {
  kept_.emplace(bytes, data);
  may_be_used_ = true;
  if (!keeps_) free_kept();
}

void GpuMemory::free_kept() {
  for (const auto& [bytes, data] : kept_) {
    cudaFree(data);
    now_ -= bytes;
  }
  kept_.clear();
}

void GpuMemory::keep(bool on) {
  keeps_ = on;
  if (!on) free_kept();
}

Buffer allocate_on_gpu(std::int64_t bytes) {
  return std::make_shared<GpuMemory>()->allocate(bytes);
}

}  // namespace speedwell
