// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What a library launches: how many thread blocks its kernels have, which no library tells.
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

namespace lupine {

struct LaunchedKernel {
  std::string name;  ///< as the compiler wrote it; empty if the driver does not say
  std::array<unsigned, 3> grid{};
  std::array<unsigned, 3> block{};
};

/// What `work` gives to the stream, captured and not run. Empty where that cannot be known.
/// @pre the same work has run on the stream before
std::vector<LaunchedKernel> launched_kernels(cudaStream_t stream,
                                             const std::function<void()>& work);

}  // namespace lupine
