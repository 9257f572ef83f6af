// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// FP64 products by integers, as cuBLAS documents who decides about them.
#include <cfloat>
#include <cmath>
#include <cstdlib>
#include <string>

#include "blas_handle.hpp"

namespace speedwell::emulation {

namespace {

bool environment_says(const char* variable, const char* value) {
  const char* given = std::getenv(variable);
  return given != nullptr && std::string(given) == value;
}

}  // namespace

bool is_emulated(const Fp64Mode& mode, std::int64_t inner) {
  constexpr std::int64_t worth_it = 32;  // from this inner dimension on
  const bool math = mode.math ? *mode.math == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH
                              : environment_says("CUBLAS_EMULATE_DOUBLE_PRECISION", "1");
  const bool eager = mode.strategy == CUBLAS_EMULATION_STRATEGY_EAGER ||
                     (mode.strategy == CUBLAS_EMULATION_STRATEGY_DEFAULT &&
                      environment_says("CUBLAS_EMULATION_STRATEGY", "eager"));
  return math && (eager || inner >= worth_it);
}

namespace {

/// The bits to which an emulated product is rounded. What was told keeps those of FP64; what the
/// environment alone says keeps so few that a test sees it.
int bits_of(const Fp64Mode& mode) {
  constexpr int visible = 40;
  const char* given = std::getenv("CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT");
  if (!mode.control && given != nullptr) return std::atoi(given);
  return mode.math && mode.most_bits >= DBL_MANT_DIG ? DBL_MANT_DIG : visible;
}

double rounded(double value, int bits) {
  int exponent = 0;
  const double fraction = std::frexp(value, &exponent);
  return std::isfinite(value)
             ? std::ldexp(std::nearbyint(std::ldexp(fraction, bits)), exponent - bits)
             : value;
}

/// Counts an emulated product. Without room for its slices, cuBLAS would allocate memory.
void count(const Product& p) {
  constexpr std::int64_t slices = 10;
  const std::int64_t inner = p.a.transposed ? p.a.rows : p.a.columns;
  ++state().calls["emulated product"];
  if (static_cast<std::int64_t>(p.workspace_bytes) < slices * inner * (p.d.rows + p.d.columns))
    ++state().calls["workspace too small"];
}

}  // namespace

std::function<void()> emulated(const Product& product, const Fp64Mode& mode) {
  count(product);
  return [p = product, bits = bits_of(mode)] {
    run(p);
    auto* const d = static_cast<double*>(const_cast<void*>(p.d.data));
    for (std::int64_t j = 0; j < p.d.columns; ++j)
      for (std::int64_t i = 0; i < p.d.rows; ++i)
        d[i + j * p.d.ld] = rounded(d[i + j * p.d.ld], bits);
  };
}

}  // namespace speedwell::emulation

using namespace speedwell::emulation;

namespace {

/// Sets a value of a handle. What is not allowed is refused.
template <class Set>
cublasStatus_t set_mode(const char* function, cublasHandle_t handle, bool allowed, Set set) {
  return blas_call(function, [&] {
    if (handle == nullptr) return CUBLAS_STATUS_NOT_INITIALIZED;
    if (!allowed) return CUBLAS_STATUS_INVALID_VALUE;
    set(handle->fp64);
    return CUBLAS_STATUS_SUCCESS;
  });
}

}  // namespace

cublasStatus_t cublasSetMathMode(cublasHandle_t handle, cublasMath_t mode) {
  return set_mode("cublasSetMathMode", handle,
                  mode == CUBLAS_DEFAULT_MATH || mode == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH,
                  [&](Fp64Mode& fp64) { fp64.math = mode; });
}

cublasStatus_t cublasSetEmulationStrategy(cublasHandle_t handle,
                                          cublasEmulationStrategy_t strategy) {
  return set_mode(
      "cublasSetEmulationStrategy", handle,
      strategy >= CUBLAS_EMULATION_STRATEGY_DEFAULT && strategy <= CUBLAS_EMULATION_STRATEGY_EAGER,
      [&](Fp64Mode& fp64) { fp64.strategy = strategy; });
}

cublasStatus_t cublasSetEmulationSpecialValuesSupport(cublasHandle_t handle,
                                                      cudaEmulationSpecialValuesSupport mask) {
  return set_mode("cublasSetEmulationSpecialValuesSupport", handle,
                  mask == CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT, [](Fp64Mode&) {});
}

cublasStatus_t cublasSetFixedPointEmulationMantissaControl(cublasHandle_t handle,
                                                           cudaEmulationMantissaControl control) {
  return set_mode("cublasSetFixedPointEmulationMantissaControl", handle,
                  control == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC ||
                      control == CUDA_EMULATION_MANTISSA_CONTROL_FIXED,
                  [&](Fp64Mode& fp64) { fp64.control = control; });
}

cublasStatus_t cublasSetFixedPointEmulationMaxMantissaBitCount(cublasHandle_t handle, int most) {
  return set_mode("cublasSetFixedPointEmulationMaxMantissaBitCount", handle, most >= 0,
                  [&](Fp64Mode& fp64) { fp64.most_bits = most; });
}

cublasStatus_t cublasSetFixedPointEmulationMantissaBitOffset(cublasHandle_t handle, int offset) {
  return set_mode("cublasSetFixedPointEmulationMantissaBitOffset", handle, offset == 0,
                  [](Fp64Mode&) {});
}
