// SPDX-License-Identifier: BSD-3-Clause
// A preloaded library, whose function hides OpenBLAS's. It says that OpenBLAS has chosen kernels
// that are too slow for a processor with AVX2, as old versions do on new processors, or those that
// OPENBLAS_CORETYPE names.
#include <cstdlib>

extern "C" const char* openblas_get_corename() {
  const char* asked = std::getenv("OPENBLAS_CORETYPE");
  return asked != nullptr ? asked : "Prescott";
}
