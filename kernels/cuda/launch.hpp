// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Launches of kernels, and the sizes of their grids.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/numbers.hpp"

/// A kernel's dynamic shared memory, as an array of float4.
#ifndef SPEEDWELL_DYNAMIC_SHARED
#define SPEEDWELL_DYNAMIC_SHARED(name) extern __shared__ float4 name[]
#endif

namespace speedwell::cuda {

/// The largest number of blocks along y or z that CUDA allows.
constexpr std::int64_t largest_grid_y = 65535;

/// The number of blocks for `count` items with `each` in a block, at least 1.
inline unsigned blocks(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>(std::max<std::int64_t>(ceil_div(count, each), 1));
}

/// Threads of a block in a loop over a matrix. Each thread has a row, so that neighbouring threads
/// read and write contiguous memory.
constexpr int matrix_threads = 256;
/// The number of blocks that such a loop should have, for any shape: several for each
/// multiprocessor, each with enough work to keep the memory busy.
constexpr std::int64_t matrix_blocks = 2048;

/// The grid of a loop over a matrix: a thread for each row along x; along y, every gridDim.y-th
/// column.
inline dim3 matrix_grid(std::int64_t rows, std::int64_t columns) {
  const unsigned down = blocks(rows, matrix_threads);
  const std::int64_t wanted = ceil_div(matrix_blocks, down);
  return {down, static_cast<unsigned>(
                    std::clamp<std::int64_t>(std::min(wanted, columns), 1, largest_grid_y))};
}

/// Launches `kernel` on `stream`. @return CUDA's error code of the launch
template <class... Expected, class... Actual>
cudaError_t launch(cudaStream_t stream, dim3 grid, dim3 block, void (*kernel)(Expected...),
                   const Actual&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Expected>(arguments)...);
}

/// launch() with so much dynamic shared memory.
template <class... Expected, class... Actual>
cudaError_t launch_shared(cudaStream_t stream, dim3 grid, dim3 block, std::size_t bytes,
                          void (*kernel)(Expected...), const Actual&... arguments) {
  const cudaError_t error =
      cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                           cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  if (error != cudaSuccess) return error;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Expected>(arguments)...);
}

}  // namespace speedwell::cuda
