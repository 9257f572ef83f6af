// SPDX-License-Identifier: BSD-3-Clause
// Says which BLAS a program calls that was built with -DSPEEDWELL_BLAS.
#include <cstdio>

#include "host/blas_library.hpp"

int main() {
  std::puts(speedwell::blas_description().c_str());
}
