// SPDX-License-Identifier: BSD-3-Clause
// Stands before OpenBLAS and says that it chose kernels which no processor with AVX2 should use, as
// old versions do on new processors; what the user asked for is believed to have come.
#include <cstdlib>

extern "C" const char* openblas_get_corename() {
  const char* asked = std::getenv("OPENBLAS_CORETYPE");
  return asked != nullptr ? asked : "Prescott";
}
