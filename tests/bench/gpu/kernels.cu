// SPDX-License-Identifier: BSD-3-Clause
#include "kernels.hpp"

#include "cuda/launch.hpp"

namespace speedwell::cuda {

namespace {

constexpr int threads = 256;
constexpr int blocks_a_multiprocessor = 8;
constexpr int unroll = 4;  // loads that a thread has in flight

struct alignas(16) Quad {
  float part[4];
};

__global__ void __launch_bounds__(threads)
    read_kernel(const Quad* data, std::int64_t count, float* sink) {
  const std::int64_t stride = std::int64_t{gridDim.x} * threads;
  float sum = 0;
#pragma unroll unroll
  for (std::int64_t i = std::int64_t{blockIdx.x} * threads + threadIdx.x; i < count; i += stride) {
    const Quad quad = data[i];
    sum += (quad.part[0] + quad.part[1]) + (quad.part[2] + quad.part[3]);
  }
  // This keeps the compiler from removing the sum.
  if (sum == 1e38f) *sink = sum;
}

__global__ void __launch_bounds__(threads)
    generate_kernel(MatrixSpec spec, Affine step, MatrixView<double> a) {
  for (std::int64_t j = blockIdx.x; j < a.columns; j += gridDim.x) {
    std::int64_t i = threadIdx.x;
    std::uint64_t state = spec.state(i, j);
    for (; i < a.rows; i += threads, state = step(state)) {
      const double value = uniform(state);
      a.column(j)[i] = i == j ? spec.diagonal_entry(i, value) : value;
    }
  }
}

}  // namespace

cudaError_t read_all(cudaStream_t stream, const void* data, std::int64_t bytes, int multiprocessors,
                     float* sink) {
  const auto grid = static_cast<unsigned>(multiprocessors * blocks_a_multiprocessor);
  return launch(stream, dim3(grid), dim3(threads), read_kernel, static_cast<const Quad*>(data),
                bytes / static_cast<std::int64_t>(sizeof(Quad)), sink);
}

cudaError_t generate_fp64(cudaStream_t stream, const MatrixSpec& spec, MatrixView<double> a) {
  return launch(stream, dim3(blocks(a.columns, 1)), dim3(threads), generate_kernel, spec,
                jump(threads), a);
}

}  // namespace speedwell::cuda
