// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a kernel is started.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

#include "core/numbers.hpp"

namespace lupine::cuda {

/// The largest number of blocks along y or z.
constexpr std::int64_t largest_grid_y = 65535;

/// Blocks for `count` items, `each` to a block.
inline unsigned blocks(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>(std::max<std::int64_t>(ceil_div(count, each), 1));
}

/// Threads of a block in a loop over a matrix: each has a row, so that neighbours read and write
/// contiguously.
constexpr int matrix_threads = 256;
/// Blocks of such a loop, whatever the shape: some for every multiprocessor, with enough work each
/// for the loads in flight to fill the memory's pipe.
constexpr std::int64_t matrix_blocks = 2048;

/// Grid of a loop over a matrix: rows by threads, every gridDim.y-th column by a thread.
inline dim3 matrix_grid(std::int64_t rows, std::int64_t columns) {
  const unsigned down = blocks(rows, matrix_threads);
  const std::int64_t wanted = ceil_div(matrix_blocks, down);
  return {down, static_cast<unsigned>(
                    std::clamp<std::int64_t>(std::min(wanted, columns), 1, largest_grid_y))};
}

template <class... Expected, class... Actual>
cudaError_t launch(cudaStream_t stream, dim3 grid, dim3 block, void (*kernel)(Expected...),
                   const Actual&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.stream = stream;
  return cudaLaunchKernelEx(&config, kernel, static_cast<Expected>(arguments)...);
}

}  // namespace lupine::cuda
