// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Finds out which kernels a library launches and with how many thread blocks.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace speedwell {

struct LaunchedKernel {
  std::string name;  ///< as the compiler mangled it; empty if the driver does not give it
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
  std::int64_t blocks() const { return std::int64_t{grid[0]} * grid[1] * grid[2]; }
};

/// The kernels that `work` would launch on the stream. The work is captured and does not run. Empty
/// where this is not possible.
std::vector<LaunchedKernel> launched_kernels(cudaStream_t stream,
                                             const std::function<void()>& work);

}  // namespace speedwell
