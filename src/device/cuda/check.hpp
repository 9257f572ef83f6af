// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Every return code of CUDA's libraries goes through check(): it throws a Fault that names the
/// call, what went wrong, where, and which GPU. Rank and host are added where the fault is caught.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace lupine {

/// Chooses the GPU of this thread's calls, and remembers it for messages: a GPU that has failed
/// does not say any more which it is.
void use_gpu(int gpu);

void check(cudaError_t error, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
void check(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
/// The same for other libraries: `error` in words, null if there was none.
void check(const char* error, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace lupine
