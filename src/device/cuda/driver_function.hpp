// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Functions of CUDA's driver. They are found at run time: Lupine is not linked with the driver's
/// library, and an older driver lacks some.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace lupine {

/// A function of the driver with the interface that it has since `version`; null if there is none.
/// @param version as CUDART_VERSION: 12040
template <class F>
F driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess
             ? reinterpret_cast<F>(function)
             : nullptr;
}

}  // namespace lupine
