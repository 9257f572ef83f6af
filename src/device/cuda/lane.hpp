// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A stream with the handles, workspace and scratch memory that its operations need. Queues use a
/// lane one after the other, since making a lane takes longer than a small run.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <speedwell/options.hpp>

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>

#include "cuda/kernels.hpp"
#include "device/buffer.hpp"
#include "device/cuda/gpu_memory.hpp"
#include "device/cuda/green_parts.hpp"
#include "device/queue.hpp"

namespace speedwell {

/// A stream and its resources, for one queue at a time.
class Lane {
 public:
  /// @param memory gives the lane its device memory
  explicit Lane(Priority priority,
                std::shared_ptr<GpuMemory> memory = std::make_shared<GpuMemory>());
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  ~Lane();

  /// Gives all memory of operations back, between two devices.
  void rest();
  /// Forgets what an earlier device has prepared and found.
  void renew();
  Priority priority() const { return priority_; }
  /// The stream of the next operation. It is behind all operations that were given before.
  cudaStream_t stream() const { return stream_; }
  /// The number of multiprocessors that a product on this lane may use; 0: all.
  int multiprocessors() const { return multiprocessors_; }
  /// Whether nothing that runs on stream() can use more than multiprocessors().
  bool is_confined() const { return stream_ != own_stream_; }
  /// Sets multiprocessors(). Where the lane has a part of that size, it goes on there.
  void set_multiprocessors(int count);
  /// Adds the part that leaves `free` multiprocessors, if there is one.
  void add_part(const std::shared_ptr<GreenParts>& parts, int free);
  /// A cuBLAS handle on this stream, with the workspace below, the limit multiprocessors(), and
  /// FP64 products of this kind, whatever the environment says. Scalars are in host memory.
  cublasHandle_t blas(Fp64Products products = Fp64Products::native);
  /// workspace_bytes or more of device memory for library calls, which use it one after the other.
  void* workspace();
  /// Enlarges the workspace to this size at least.
  void reserve_workspace(std::int64_t bytes);
  std::int64_t workspace_size() const { return workspace_.bytes(); }
  static constexpr std::int64_t workspace_bytes = std::int64_t{64} << 20;

  /// Device memory of at least `bytes` bytes. Its contents are lost when it grows.
  std::byte* scratch(std::int64_t bytes);
  /// Makes room for diagonal().
  void reserve_diagonal(std::int64_t n);
  /// A copy of n doubles of the host in device memory, made in the stream's order.
  const double* diagonal(const double* host, std::int64_t n);

  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
  /// Right-hand sides from which Device::prepare_solves() makes inverses; Device::prepare() sets
  /// it, for diagonal blocks of every order up to that of the work.
  std::int64_t inverted_from = 0;
  /// Whether factor_leaf() factors leaves.
  bool leaves = true;
  /// Whether a queue has it.
  bool taken = false;
  /// The whole inverse of a triangle of a diagonal block (Device::prepare_solves()).
  struct Inverse {
    Buffer memory{};
    const void* of = nullptr;  ///< the diagonal block; null: nothing is prepared
    cuda::WholeInverse view{};
    MatrixView<double> blocks{};  ///< of an FP64 triangle: cuda::invert_lower()
  };
  Inverse& inverse(Triangle triangle) { return inverses_[triangle == Triangle::upper ? 1 : 0]; }
  void forget_inverse(Triangle triangle) { inverse(triangle).of = nullptr; }
  /// Makes room for the inverse of a triangle of order n, and forgets what was there.
  void reserve_inverse(Triangle triangle, std::int64_t n);
  /// The same for the inverses of the blocks of L in FP64.
  void reserve_blocks(std::int64_t n);

  /// Values that one kernel passes to the next one, in device memory. Zero at first.
  struct Words {
    alignas(16) float alpha;  // cuBLASLt needs this alignment of scalars on the device
    alignas(16) float low_alpha;
    std::uint32_t largest_bits;
    std::uint32_t growth;    ///< of all inverses so far: see cuda::round_inverse()
    std::uint32_t growth64;  ///< the same of those in FP64
    double scale;            ///< of right-hand sides
    cuda::SearchSpace search;
  };
  Words* words() const { return words_.as<Words>(); }

 private:
  cudaStream_t make_own_stream() const;
  int stream_priority() const;
  void give_stream_to_blas();
  void give_workspace();

  Priority priority_;
  std::shared_ptr<GpuMemory> memory_;
  int multiprocessors_ = 0;
  cudaStream_t own_stream_;
  std::shared_ptr<GreenParts> parts_;
  std::map<int, cudaStream_t> in_parts_;  ///< streams by the sizes of their parts
  cudaStream_t stream_;                   ///< one of these
  cudaEvent_t turn_ = nullptr;            ///< of the last change of streams
  cublasHandle_t blas_ = nullptr;
  int blas_multiprocessors_ = 0;                       ///< the limit that blas_ has now
  Fp64Products blas_products_ = Fp64Products::native;  ///< that blas_ has now
  Buffer workspace_;
  Buffer scratch_;
  Buffer diagonal_;
  void reserve(Inverse& inverse, std::int64_t bytes);

  std::array<Inverse, 2> inverses_;
  Buffer words_;
};

}  // namespace speedwell
