// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/lane.hpp"

#include <lupine/error.hpp>

#include <algorithm>
#include <utility>

#include "core/expects.hpp"
#include "device/cuda/blas_emulation.hpp"
#include "device/cuda/check.hpp"
#include "device/out_of_memory.hpp"

namespace lupine {

Buffer allocate_on_gpu(std::int64_t bytes, std::function<void()> before_free,
                       std::shared_ptr<GpuBytes> counted) {
  if (bytes == 0) return {};
  void* data = nullptr;
  const cudaError_t error = cudaMalloc(&data, static_cast<std::size_t>(bytes));
  // The latter for sizes beyond all that the driver could map.
  if (error == cudaErrorMemoryAllocation || error == cudaErrorInvalidValue)
    throw out_of_memory(bytes, "could not be had on the GPU");
  check(error, "cudaMalloc");
  if (counted) counted->most = std::max(counted->most, counted->now += bytes);
  return {data, bytes,
          [bytes, before = std::move(before_free), counted = std::move(counted)](void* p) {
            if (before) before();
            cudaFree(p);
            if (counted) counted->now -= bytes;
          }};
}

Lane::Lane(Priority priority, std::function<void()> before_free, std::shared_ptr<GpuBytes> counted)
    : priority_(priority),
      before_free_(std::move(before_free)),
      counted_(std::move(counted)),
      own_stream_(make_own_stream()),
      stream_(own_stream_) {
  check(cudaEventCreateWithFlags(&turn_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  words_ = allocate_on_gpu(sizeof(Words), {}, counted_);
  check(cudaMemsetAsync(words_.data(), 0, sizeof(Words), stream_), "cudaMemsetAsync");
}

cudaStream_t Lane::make_own_stream() const {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, stream_priority()),
        "cudaStreamCreateWithPriority");
  return stream;
}

int Lane::stream_priority() const {
  int least = 0;
  int greatest = 0;
  check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "cudaDeviceGetStreamPriorityRange");
  // In CUDA, the greatest priority has the lowest number.
  return priority_ == Priority::high     ? greatest
         : priority_ == Priority::raised ? std::min(greatest + 1, least)
                                         : least;
}

void Lane::add_part(const std::shared_ptr<GreenParts>& parts, int free) {
  LUPINE_EXPECTS(parts_ == nullptr || parts_ == parts);
  parts_ = parts;
  const int size = parts_->size(free);
  if (size == 0 || in_parts_.contains(size)) return;
  const cudaStream_t stream = parts_->make_stream(free, stream_priority());
  if (stream != nullptr) in_parts_[size] = stream;
}

void Lane::set_multiprocessors(int count) {
  if (count == multiprocessors_) return;
  multiprocessors_ = count;
  const auto part = in_parts_.find(count);
  const cudaStream_t next = part == in_parts_.end() ? own_stream_ : part->second;
  if (next == stream_) return;
  check(cudaEventRecord(turn_, stream_), "cudaEventRecord");
  check(cudaStreamWaitEvent(next, turn_, 0), "cudaStreamWaitEvent");
  stream_ = next;
  if (blas_ != nullptr) give_stream_to_blas();
}

Lane::~Lane() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_);
  if (blas_ != nullptr) cublasDestroy(blas_);
  if (turn_ != nullptr) cudaEventDestroy(turn_);
  for (const auto& [size, stream] : in_parts_) cudaStreamDestroy(stream);
  if (own_stream_ != nullptr) cudaStreamDestroy(own_stream_);
}

void* Lane::workspace() {
  if (workspace_.bytes() == 0) workspace_ = allocate_on_gpu(workspace_bytes, {}, counted_);
  return workspace_.data();
}

void Lane::reserve_workspace(std::int64_t bytes) {
  if (workspace_.bytes() >= bytes) return;
  workspace_ = {};  // freed first, so that both need not fit
  workspace_ = allocate_on_gpu(std::max(bytes, workspace_bytes), before_free_, counted_);
  if (blas_ != nullptr) give_workspace();
}

void Lane::give_workspace() {
  void* memory = workspace();
  check(cublasSetWorkspace(blas_, memory, static_cast<std::size_t>(workspace_.bytes())),
        "cublasSetWorkspace");
}

cublasHandle_t Lane::blas(Fp64Products products) {
  if (blas_ == nullptr) {
    check(cublasCreate(&blas_), "cublasCreate");
    give_stream_to_blas();
    set_fp64_products(blas_, products);
    blas_products_ = products;
  }
  if (blas_products_ != products) {
    set_fp64_products(blas_, products);
    blas_products_ = products;
  }
  if (blas_multiprocessors_ != multiprocessors_) {
    check(cublasSetSmCountTarget(blas_, multiprocessors_), "cublasSetSmCountTarget");
    blas_multiprocessors_ = multiprocessors_;
  }
  return blas_;
}

// With a new stream, cuBLAS forgets its workspace.
void Lane::give_stream_to_blas() {
  check(cublasSetStream(blas_, stream_), "cublasSetStream");
  give_workspace();
}

std::byte* Lane::scratch(std::int64_t bytes) {
  if (scratch_.bytes() < bytes) {
    scratch_ = {};  // freed first, so that both need not fit; freeing waits for the stream
    scratch_ = allocate_on_gpu(bytes, before_free_, counted_);
  }
  return scratch_.data();
}

void Lane::reserve_diagonal(std::int64_t n) {
  const std::int64_t bytes = n * std::int64_t{sizeof(double)};
  if (diagonal_.bytes() < bytes) diagonal_ = allocate_on_gpu(bytes, before_free_, counted_);
}

const double* Lane::diagonal(const double* host, std::int64_t n) {
  reserve_diagonal(n);
  check(cudaMemcpyAsync(diagonal_.data(), host, static_cast<std::size_t>(n) * sizeof(double),
                        cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
  return diagonal_.as<double>();
}

}  // namespace lupine
