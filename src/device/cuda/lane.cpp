// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/lane.hpp"

#include <algorithm>
#include <utility>

#include "core/expects.hpp"
#include "device/cuda/blas_emulation.hpp"
#include "device/cuda/check.hpp"

namespace speedwell {

Lane::Lane(Priority priority, std::shared_ptr<GpuMemory> memory)
    : priority_(priority),
      memory_(std::move(memory)),
      own_stream_(make_own_stream()),
      stream_(own_stream_) {
  check(cudaEventCreateWithFlags(&turn_, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  words_ = memory_->allocate(sizeof(Words));
  renew();
}

void Lane::renew() {
  inverted_from = 0;
  leaves = true;
  check(cudaMemsetAsync(words_.data(), 0, sizeof(Words), stream_), "cudaMemsetAsync");
}

void Lane::rest() {
  for (Buffer* memory : {&workspace_, &scratch_, &diagonal_}) *memory = {};
  for (Inverse& inverse : inverses_) inverse = {};
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
  SPEEDWELL_EXPECTS(parts_ == nullptr || parts_ == parts);
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
  reserve_workspace(workspace_bytes);
  return workspace_.data();
}

void Lane::reserve_workspace(std::int64_t bytes) {
  if (workspace_.bytes() >= bytes) return;
  workspace_ = {};  // freed first, so that both need not fit
  workspace_ = memory_->allocate(std::max(bytes, workspace_bytes));
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
  workspace();
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
    scratch_ = memory_->allocate(bytes);
  }
  return scratch_.data();
}

void Lane::reserve_diagonal(std::int64_t n) {
  const std::int64_t bytes = n * std::int64_t{sizeof(double)};
  if (diagonal_.bytes() < bytes) diagonal_ = memory_->allocate(bytes);
}

void Lane::reserve(Inverse& inverse, std::int64_t bytes) {
  inverse.of = nullptr;
  if (inverse.memory.bytes() >= bytes) return;
  inverse.memory = {};
  inverse.memory = memory_->allocate(bytes);
}

void Lane::reserve_blocks(std::int64_t n) {
  Inverse& to = inverse(Triangle::unit_lower);
  reserve(to, cuda::inverted_lower * n * std::int64_t{sizeof(double)});
  to.blocks = {to.memory.as<double>(), cuda::inverted_lower, n, cuda::inverted_lower};
}

void Lane::reserve_inverse(Triangle triangle, std::int64_t n) {
  Inverse& to = inverse(triangle);
  const std::int64_t ld = round_up(n, 64);  // whole cache lines
  const std::int64_t values = ld * n * std::int64_t{sizeof(Half)};
  const std::int64_t words = round_up(n * std::int64_t{sizeof(float)}, sizeof(double));
  const std::int64_t bytes = values + words + 2 * std::int64_t{sizeof(double)};
  reserve(to, bytes);
  std::byte* const at = to.memory.data();
  auto* const scale = reinterpret_cast<double*>(at + values + words);
  to.view = {{reinterpret_cast<Half*>(at), n, n, ld},
             reinterpret_cast<float*>(at + values),
             scale,
             reinterpret_cast<std::uint32_t*>(scale + 1)};
}

const double* Lane::diagonal(const double* host, std::int64_t n) {
  reserve_diagonal(n);
  check(cudaMemcpyAsync(diagonal_.data(), host, static_cast<std::size_t>(n) * sizeof(double),
                        cudaMemcpyHostToDevice, stream_),
        "cudaMemcpyAsync");
  return diagonal_.as<double>();
}

}  // namespace speedwell
