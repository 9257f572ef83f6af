/// @file
/// How a kernel is started.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <cstdint>

namespace lupine::cuda {

/// The largest number of blocks along y or z.
constexpr std::int64_t largest_grid_y = 65535;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

/// Blocks for `count` items, `each` to a block.
inline unsigned blocks(std::int64_t count, std::int64_t each) {
  return static_cast<unsigned>(std::max<std::int64_t>(ceil_div(count, each), 1));
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
