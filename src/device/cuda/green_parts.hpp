// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Parts of a GPU for updates, beside which panels find multiprocessors that are free. What runs on
/// a stream of a part stays on the part's multiprocessors, whatever kernels a library launches.
/// These are CUDA's green contexts (CUDA Driver API, "Green Contexts", from CUDA 12.5 on).
#pragma once

#include <cuda_runtime.h>

#include <memory>

namespace speedwell {

/// The parts of one GPU. They overlap, and each one leaves some multiprocessors to the rest of the
/// program. For one thread.
class GreenParts {
 public:
  /// The parts of the GPU that is in use; null where the driver has no green contexts, or where a
  /// kernel does not run in one.
  static std::shared_ptr<GreenParts> make(int gpu);
  GreenParts(const GreenParts&) = delete;
  GreenParts& operator=(const GreenParts&) = delete;
  ~GreenParts();

  /// The driver divides multiprocessors by this number: 8 from compute capability 9.0 on.
  int unit() const;
  /// The multiprocessors of the largest part that leaves at least `free` ones. Its first call for a
  /// number makes the part, which may wait for the GPU. 0 where there is no such part.
  int size(int free);
  /// A new stream of the part that has size(free) multiprocessors; null where there is none. The
  /// caller destroys it before this object. @param priority as in cudaStreamCreateWithPriority
  cudaStream_t make_stream(int free, int priority);

 private:
  struct Parts;
  explicit GreenParts(std::unique_ptr<Parts> parts);
  bool runs();

  std::unique_ptr<Parts> parts_;
};

}  // namespace speedwell
