// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Passes over a device's memory, for callers that time them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "bench/memory_passes.hpp"
#include "device/device.hpp"

namespace speedwell {

/// STREAM's triad by a CPU's threads; a copy on a GPU.
class MemoryTrial {
 public:
  /// @param node_ranks ranks whose trials share the caches and the memory of a node
  /// @param most bytes that the trial may take; on a GPU, half of them in each direction
  /// @throws Fault where memory is short
  MemoryTrial(Device& device, int threads, int node_ranks, double most);

  /// Bytes that a pass reads and writes.
  double bytes() const { return bytes_; }
  /// Makes a pass, and waits for its end.
  void run();

 private:
  Device& device_;
  double bytes_ = 0;
  std::optional<HostMemory> host_;
  Buffer from_;
  Buffer to_;
  std::int64_t order_ = 0;  // of the FP64 matrices that a GPU copies
  std::unique_ptr<Queue> queue_;
};

}  // namespace speedwell
