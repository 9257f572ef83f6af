// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The functions of cuBLAS that Speedwell looks up by their names.
#pragma once

#include "cublas_v2.h"

#include <map>
#include <string>

namespace speedwell::emulation {

inline const std::map<std::string, void*>& cublas_functions() {
#define SPEEDWELL_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const std::map<std::string, void*> functions{
      SPEEDWELL_FUNCTION(cublasSetEmulationStrategy),
      SPEEDWELL_FUNCTION(cublasSetEmulationSpecialValuesSupport),
      SPEEDWELL_FUNCTION(cublasSetFixedPointEmulationMantissaControl),
      SPEEDWELL_FUNCTION(cublasSetFixedPointEmulationMaxMantissaBitCount),
      SPEEDWELL_FUNCTION(cublasSetFixedPointEmulationMantissaBitOffset)};
#undef SPEEDWELL_FUNCTION
  return functions;
}

}  // namespace speedwell::emulation
