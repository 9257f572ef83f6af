// SPDX-License-Identifier: BSD-3-Clause
// A library with CBLAS's names and integers of 64 bits, which Speedwell has to refuse.
#include <cstdint>

extern "C" {
void cblas_sgemm() {}
void cblas_dgemm() {}
void cblas_strsm() {}
void cblas_dtrsm() {}
void cblas_ctrsm() {}
void cblas_ztrsm() {}
void cblas_dscal(std::int64_t n, double alpha, double* x, std::int64_t step) {
  for (std::int64_t i = 0; i < n; ++i) x[i * step] *= alpha;
}
}
