// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a CUDA device needs beside operands: streams, handles, chosen algorithms, memory. To make
/// it takes longer than to solve a system of some thousand unknowns, so that the devices of a
/// process alone leave it to each other.
#pragma once

#include <cuda_runtime.h>

#include <memory>
#include <vector>

#include "device/cuda/gpu_memory.hpp"
#include "device/cuda/green_parts.hpp"
#include "device/cuda/lane.hpp"
#include "device/cuda/products.hpp"

namespace speedwell {

/// What one device at a time needs of a GPU.
struct GpuResources {
  /// Of the GPU that is in use. @param ordinal its number
  explicit GpuResources(int ordinal);
  GpuResources(const GpuResources&) = delete;
  GpuResources& operator=(const GpuResources&) = delete;
  ~GpuResources();

  /// Whether no lane has work, and no error has ended any.
  bool is_idle() const;

  int gpu;
  cudaDeviceProp properties{};
  std::shared_ptr<GpuMemory> memory = std::make_shared<GpuMemory>();
  std::shared_ptr<GpuMemory> pinned = std::make_shared<GpuMemory>(GpuMemory::Place::pinned);
  std::shared_ptr<GreenParts> parts{};  ///< null: none are asked for yet, or there are none
  bool parts_failed = false;
  std::unique_ptr<Products> products{};  ///< null until a device has found the GPU new enough
  /// A queue takes the first of its priority that none has, so that the queues of a second solve
  /// find what those of the first one have made.
  std::vector<std::unique_ptr<Lane>> lanes{};
};

/// The resources of the GPU in use that another device has left, or new ones. They keep the memory
/// that is given back. Their last owner leaves them to the next device, with at most an eighth of
/// the GPU's memory, unless an error of the GPU has made them useless.
std::shared_ptr<GpuResources> kept_resources(int gpu);

/// Frees what no device uses. False where there is nothing.
bool release_kept_resources();

}  // namespace speedwell
