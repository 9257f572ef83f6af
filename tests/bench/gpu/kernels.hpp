// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Kernels that only the benches of a GPU use.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "core/matrix_view.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell::cuda {

/// Reads `bytes` bytes on `multiprocessors` multiprocessors, and writes nothing.
/// @param sink a float in device memory
/// @pre 16 divides bytes
cudaError_t read_all(cudaStream_t stream, const void* data, std::int64_t bytes, int multiprocessors,
                     float* sink);
/// A <- all of a random matrix, in FP64. @pre spec.random(), spec.diagonal == nullptr
cudaError_t generate_fp64(cudaStream_t stream, const MatrixSpec& spec, MatrixView<double> a);

}  // namespace speedwell::cuda
