// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// check() takes every return code of CUDA's libraries. For an error it throws a Fault that names
/// the call, the error, the source line and the GPU. Rank and host are added where the Fault is
/// caught.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime.h>

namespace speedwell {

/// Selects the GPU of this thread's calls, and remembers its number for messages: CUDA cannot be
/// asked for it after an error.
void use_gpu(int gpu);
/// The GPU that use_gpu() has selected; -1: none yet.
int gpu_in_use();

/// @throws Fault unless `error` is cudaSuccess. @param call name of the function that returned it
void check(cudaError_t error, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
/// @throws Fault unless `status` is CUBLAS_STATUS_SUCCESS
void check(cublasStatus_t status, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());
/// For other libraries. @throws Fault unless `error`, the error in words, is null
void check(const char* error, const char* call, const char* file = __builtin_FILE(),
           int line = __builtin_LINE());

}  // namespace speedwell
