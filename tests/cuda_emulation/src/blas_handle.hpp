// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A handle of cuBLAS, and how it computes FP64 products.
#pragma once

#include <cublas_v2.h>

#include <cstdint>
#include <functional>
#include <optional>

#include "blas.hpp"

namespace speedwell::emulation {

/// What a handle was told of FP64 products. Else the environment decides, as for cuBLAS.
struct Fp64Mode {
  std::optional<cublasMath_t> math = {};
  cublasEmulationStrategy_t strategy = CUBLAS_EMULATION_STRATEGY_DEFAULT;
  std::optional<cudaEmulationMantissaControl> control = {};
  int most_bits = 0;  // 0: the library's
};

/// Whether a product of this inner dimension is computed by integers.
bool is_emulated(const Fp64Mode& mode, std::int64_t inner);

/// Computes such a product, which is counted now. Told to keep all bits of FP64, it does; else it
/// is rounded to so few that a test sees it.
std::function<void()> emulated(const Product& product, const Fp64Mode& mode);

}  // namespace speedwell::emulation

struct cublasContext {
  cudaStream_t stream = nullptr;
  cublasPointerMode_t mode = CUBLAS_POINTER_MODE_HOST;
  void* workspace = nullptr;
  std::size_t workspace_bytes = 0;
  speedwell::emulation::Fp64Mode fp64 = {};
};
