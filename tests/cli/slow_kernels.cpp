// SPDX-License-Identifier: BSD-3-Clause
// A preloaded library that gives OpenBLAS slow kernels, as an old version has on a new processor.
// Kernels that OPENBLAS_CORETYPE names stay.
#include <cstdlib>

extern "C" {
[[gnu::weak]] void gotoblas_dynamic_init();
[[gnu::weak]] void gotoblas_dynamic_quit();
}

namespace {

[[gnu::constructor]] void take_slow_kernels() {
  constexpr const char* variable = "OPENBLAS_CORETYPE";
  if (gotoblas_dynamic_init == nullptr || std::getenv(variable) != nullptr) return;
  ::setenv(variable, "Prescott", 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  ::unsetenv(variable);
}

}  // namespace
