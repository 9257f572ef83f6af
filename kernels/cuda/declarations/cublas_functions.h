// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The functions of cuBLAS that Lupine looks up by their names.
#pragma once

#include "cublas_v2.h"

#include <map>
#include <string>

namespace lupine::emulation {

inline const std::map<std::string, void*>& cublas_functions() {
#define LUPINE_FUNCTION(name) \
  { #name, reinterpret_cast < void*>(&name) }
  static const std::map<std::string, void*> functions{
      LUPINE_FUNCTION(cublasSetEmulationStrategy),
      LUPINE_FUNCTION(cublasSetEmulationSpecialValuesSupport),
      LUPINE_FUNCTION(cublasSetFixedPointEmulationMantissaControl),
      LUPINE_FUNCTION(cublasSetFixedPointEmulationMaxMantissaBitCount),
      LUPINE_FUNCTION(cublasSetFixedPointEmulationMantissaBitOffset)};
#undef LUPINE_FUNCTION
  return functions;
}

}  // namespace lupine::emulation
