// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A stream with what its operations need: handles of libraries, workspace, scratch. Made once and
/// used by one queue after the other, since making one takes longer than a small run.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "cuda/kernels.hpp"
#include "device/buffer.hpp"
#include "device/queue.hpp"

namespace lupine {

/// Device memory, freed with the owner, which waits for all that may use it.
/// @param before_free may be empty
/// @throws Fault "out of memory: ..."
Buffer allocate_on_gpu(std::int64_t bytes, std::function<void()> before_free = {});

class Lane {
 public:
  /// @param before_free is called before memory is freed; may be empty
  explicit Lane(Priority priority, std::function<void()> before_free = {});
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  Priority priority() const { return priority_; }
  cudaStream_t stream() const { return stream_; }
  /// Multiprocessors that a product here may hold to its end; 0: all.
  int multiprocessors() const { return multiprocessors_; }
  void set_multiprocessors(int count) { multiprocessors_ = count; }
  /// A cuBLAS handle on this stream with the workspace below, held to multiprocessors(). Scalars
  /// lie in host memory.
  cublasHandle_t blas();
  /// Of fixed size, for one library call after the other.
  void* workspace();
  static constexpr std::int64_t workspace_bytes = std::int64_t{64} << 20;

  /// At least so many bytes; what was in it is lost when it grows.
  std::byte* scratch(std::int64_t bytes);
  std::int64_t scratch_bytes() const { return scratch_.bytes(); }
  /// n doubles on the device, copied from the host when the stream gets there.
  const double* diagonal(const double* host, std::int64_t n);

  /// For what one kernel hands to the next. Zero at first.
  struct Words {
    alignas(16) float alpha;  // as cuBLASLt wants its scalars on the device
    std::uint32_t largest_bits;
    cuda::SearchSpace search;
  };
  Words* words() const { return words_.as<Words>(); }

 private:
  Priority priority_;
  std::function<void()> before_free_;
  int multiprocessors_ = 0;
  cudaStream_t stream_ = nullptr;
  cublasHandle_t blas_ = nullptr;
  int blas_multiprocessors_ = 0;  ///< that blas_ was told
  Buffer workspace_;
  Buffer scratch_;
  Buffer diagonal_;
  Buffer words_;
};

}  // namespace lupine
