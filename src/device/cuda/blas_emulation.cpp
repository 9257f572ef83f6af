// SPDX-License-Identifier: BSD-3-Clause
#include "device/cuda/blas_emulation.hpp"

#include <cublasLt.h>
#include <fmt/format.h>

#include "core/expects.hpp"
#include "device/cuda/check.hpp"
#include "device/emulation_workspace.hpp"

#ifdef SPEEDWELL_CUDA_EMULATED
#include <cuda_emulation.hpp>
#else
#include <dlfcn.h>
#endif

namespace speedwell {

namespace {

#ifdef SPEEDWELL_CUDA_EMULATED
using emulation::dlsym;
void* loaded_libraries() {
  return nullptr;
}
#else
void* loaded_libraries() {
  return RTLD_DEFAULT;
}
#endif

// Values of cublasMath_t, cublasEmulationStrategy_t, cudaEmulationSpecialValuesSupport and
// cudaEmulationMantissaControl. The calling convention passes enumerations as ints.
constexpr int emulated_math = 8;
constexpr int strategy_performant = 1;
constexpr int strategy_eager = 2;
constexpr int all_special_values = 0xFFFF;
constexpr int dynamic_bits = 0;
#if defined(CUBLAS_VERSION) && CUBLAS_VERSION >= 130100
static_assert(emulated_math == CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH);
static_assert(strategy_performant == CUBLAS_EMULATION_STRATEGY_PERFORMANT);
static_assert(strategy_eager == CUBLAS_EMULATION_STRATEGY_EAGER);
static_assert(all_special_values == CUDA_EMULATION_SPECIAL_VALUES_SUPPORT_DEFAULT);
static_assert(dynamic_bits == CUDA_EMULATION_MANTISSA_CONTROL_DYNAMIC);
#endif

struct Functions {
  using Set = cublasStatus_t (*)(cublasHandle_t, int);
  Set strategy = nullptr;
  Set special_values = nullptr;
  Set bit_control = nullptr;
  Set most_bits = nullptr;
  Set bit_offset = nullptr;
  const char* missing = nullptr;
};

Functions find() {
  Functions f;
  const auto take = [&](const char* name, Functions::Set& function) {
    function = reinterpret_cast<Functions::Set>(dlsym(loaded_libraries(), name));
    if (function == nullptr && f.missing == nullptr) f.missing = name;
  };
  take("cublasSetEmulationStrategy", f.strategy);
  take("cublasSetEmulationSpecialValuesSupport", f.special_values);
  take("cublasSetFixedPointEmulationMantissaControl", f.bit_control);
  take("cublasSetFixedPointEmulationMaxMantissaBitCount", f.most_bits);
  take("cublasSetFixedPointEmulationMantissaBitOffset", f.bit_offset);
  return f;
}

const Functions& functions() {
  static const Functions found = find();
  return found;
}

}  // namespace

std::string why_no_emulation() {
  const Functions& f = functions();
  if (f.missing == nullptr) return "";
  const std::size_t version = cublasLtGetVersion();
  return fmt::format("cuBLAS {}.{}.{} lacks {}", version / 10000, version % 10000 / 100,
                     version % 100, f.missing);
}

void set_fp64_products(cublasHandle_t handle, Fp64Products products) {
  const Functions& f = functions();
  SPEEDWELL_EXPECTS(products == Fp64Products::native || f.missing == nullptr);
  if (products == Fp64Products::native) {
    check(cublasSetMathMode(handle, CUBLAS_DEFAULT_MATH), "cublasSetMathMode");
    if (f.missing == nullptr)
      check(f.strategy(handle, strategy_performant), "cublasSetEmulationStrategy");
    return;
  }
  check(cublasSetMathMode(handle, static_cast<cublasMath_t>(emulated_math)), "cublasSetMathMode");
  check(f.strategy(handle, strategy_eager), "cublasSetEmulationStrategy");
  check(f.special_values(handle, all_special_values), "cublasSetEmulationSpecialValuesSupport");
  check(f.bit_control(handle, dynamic_bits), "cublasSetFixedPointEmulationMantissaControl");
  check(f.most_bits(handle, emulated_bits), "cublasSetFixedPointEmulationMaxMantissaBitCount");
  check(f.bit_offset(handle, 0), "cublasSetFixedPointEmulationMantissaBitOffset");
}

std::string fp64_words(Fp64Products products) {
  if (products == Fp64Products::emulated)
    return fmt::format(
        "emulated by integers in updates (cuBLAS: CUBLAS_FP64_EMULATED_FIXEDPOINT_MATH, "
        "CUBLAS_EMULATION_STRATEGY_EAGER, dynamic, at most {} bits), else native",
        emulated_bits);
  const std::string why = why_no_emulation();
  return fmt::format("native (cuBLAS: CUBLAS_DEFAULT_MATH, {})",
                     why.empty() ? "CUBLAS_EMULATION_STRATEGY_PERFORMANT" : "no emulation");
}

}  // namespace speedwell
