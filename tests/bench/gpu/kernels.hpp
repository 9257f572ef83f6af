// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Kernels that benches of a GPU need and the solver does not.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/matrix_view.hpp"
#include "element/matrix_spec.hpp"

namespace lupine::cuda {

/// Reads `bytes` bytes and writes none, for `multiprocessors` to share. @pre 16 divides bytes;
/// sink: a float in device memory
cudaError_t read_all(cudaStream_t stream, const void* data, std::int64_t bytes, int multiprocessors,
                     float* sink);
/// A <- the whole of a random matrix, in FP64. @pre spec.random(), spec.diagonal == nullptr
cudaError_t generate_fp64(cudaStream_t stream, const MatrixSpec& spec, MatrixView<double> a);

}  // namespace lupine::cuda
