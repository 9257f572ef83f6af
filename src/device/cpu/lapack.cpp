// SPDX-License-Identifier: BSD-3-Clause
#include "device/cpu/lapack.hpp"

#include <vector>

#ifdef LUPINE_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits (see dense.cpp).
extern "C" {
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
void dsgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, const double* b,
             const int* ldb, double* x, const int* ldx, double* work, float* swork, int* iterations,
             int* info);
}
#endif

#include <lupine/error.hpp>

#include "core/expects.hpp"

namespace lupine {

#ifdef LUPINE_WITH_LAPACK

bool has_lapack() {
  return true;
}

LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<double> a, std::span<double> x,
                              std::span<float> workspace) {
  LUPINE_EXPECTS(a.rows == a.columns && a.rows == std::ssize(x) && a.rows < std::int64_t{1} << 31);
  LUPINE_EXPECTS(std::ssize(workspace) >= lapack_workspace(driver, a.rows));
  const int n = static_cast<int>(a.rows);
  const int ld = static_cast<int>(a.ld);
  const int one = 1;
  std::vector<int> pivots(x.size());
  LapackOutcome outcome;
  if (driver == LapackDriver::dgesv) {
    dgesv_(&n, &one, a.data, &ld, pivots.data(), x.data(), &n, &outcome.info);
    return outcome;
  }
  const std::vector<double> b(x.begin(), x.end());
  std::vector<double> residual(x.size());
  dsgesv_(&n, &one, a.data, &ld, pivots.data(), b.data(), &n, x.data(), &n, residual.data(),
          workspace.data(), &outcome.iterations, &outcome.info);
  return outcome;
}

#else

bool has_lapack() {
  return false;
}
LapackOutcome solve_by_lapack(LapackDriver, MatrixView<double>, std::span<double>,
                              std::span<float>) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

}  // namespace lupine
