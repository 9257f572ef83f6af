// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Functions of CUDA's driver. They are found at run time: Speedwell is not linked with the
/// driver's library, and an older driver lacks some.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

namespace speedwell {

/// A function of the driver with the interface that it has since `version`; null if there is none.
/// @param version as CUDART_VERSION: 12040
template <class F>
F driver_function(const char* name, unsigned version) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found = cudaDriverEntryPointSymbolNotFound;
#if CUDART_VERSION >= 12050
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &function, version, cudaEnableDefault, &found);
#else  // it gives the interface that the driver had when this toolkit was made
  const cudaError_t error =
      version <= CUDART_VERSION
          ? cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found)
          : cudaErrorNotSupported;
#endif
  return error == cudaSuccess && found == cudaDriverEntryPointSuccess
             ? reinterpret_cast<F>(function)
             : nullptr;
}

}  // namespace speedwell
