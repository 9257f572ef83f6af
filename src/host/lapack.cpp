// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack.hpp"

#include <algorithm>
#include <vector>

#ifdef LUPINE_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits (see dense.cpp).
extern "C" {
void dgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, double* b,
            const int* ldb, int* info);
void dsgesv_(const int* n, const int* nrhs, double* a, const int* lda, int* pivots, const double* b,
             const int* ldb, double* x, const int* ldx, double* work, float* swork, int* iterations,
             int* info);
// The last three arguments are the lengths of the texts.
void dgesvx_(const char* fact, const char* trans, const int* n, const int* nrhs, double* a,
             const int* lda, double* af, const int* ldaf, int* pivots, char* equed, double* r,
             double* c, double* b, const int* ldb, double* x, const int* ldx, double* rcond,
             double* ferr, double* berr, double* work, int* iwork, int* info,
             std::size_t fact_length, std::size_t trans_length, std::size_t equed_length);
}
#endif

#include <lupine/error.hpp>

#include "core/expects.hpp"

namespace lupine {

#ifdef LUPINE_WITH_LAPACK

bool has_lapack() {
  return true;
}

namespace {

/// A system in the arguments of LAPACK, which are those of Fortran.
struct LapackArguments {
  MatrixView<double> a;
  MatrixView<double> x;  // b before, x after
  std::byte* workspace;
  int n = static_cast<int>(a.rows);
  int rhs = static_cast<int>(x.columns);
  int ld = static_cast<int>(a.ld);
  std::vector<int> pivots = std::vector<int>(static_cast<std::size_t>(a.rows));

  std::size_t size() const { return static_cast<std::size_t>(x.rows * x.columns); }
};

LapackOutcome run_dgesv(LapackArguments& s) {
  LapackOutcome outcome;
  dgesv_(&s.n, &s.rhs, s.a.data, &s.ld, s.pivots.data(), s.x.data, &s.n, &outcome.info);
  return outcome;
}

LapackOutcome run_dsgesv(LapackArguments& s) {
  LapackOutcome outcome;
  auto* const b = reinterpret_cast<double*>(s.workspace);
  double* const residuals = b + s.size();
  auto* const copies = reinterpret_cast<float*>(residuals + s.size());
  std::copy_n(s.x.data, s.size(), b);
  dsgesv_(&s.n, &s.rhs, s.a.data, &s.ld, s.pivots.data(), b, &s.n, s.x.data, &s.n, residuals,
          copies, &outcome.iterations, &outcome.info);
  return outcome;
}

LapackOutcome run_dgesvx(LapackArguments& s) {
  LapackOutcome outcome;
  auto* const b = reinterpret_cast<double*>(s.workspace);
  double* const factors = b + s.size();
  std::copy_n(s.x.data, s.size(), b);
  const std::size_t n = s.pivots.size();
  const auto rhs = static_cast<std::size_t>(s.rhs);
  std::vector<double> scales(2 * n);
  std::vector<double> work(4 * n);
  std::vector<int> iwork(n);
  std::vector<double> bounds(2 * rhs);
  char equed = 'N';
  dgesvx_("E", "N", &s.n, &s.rhs, s.a.data, &s.ld, factors, &s.n, s.pivots.data(), &equed,
          scales.data(), scales.data() + n, b, &s.n, s.x.data, &s.n, &outcome.rcond, bounds.data(),
          bounds.data() + rhs, work.data(), iwork.data(), &outcome.info, 1, 1, 1);
  return outcome;
}

}  // namespace

LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<double> a, MatrixView<double> x,
                              std::span<std::byte> workspace) {
  LUPINE_EXPECTS(a.rows == a.columns && a.rows == x.rows && x.ld == x.rows);
  LUPINE_EXPECTS(std::max(x.rows, x.columns) < std::int64_t{1} << 31);
  LUPINE_EXPECTS(std::ssize(workspace) >= lapack_workspace(driver, x.rows, x.columns));
  LapackArguments system{.a = a, .x = x, .workspace = workspace.data()};
  switch (driver) {
    case LapackDriver::dgesv:
      return run_dgesv(system);
    case LapackDriver::dsgesv:
      return run_dsgesv(system);
    case LapackDriver::dgesvx:
      return run_dgesvx(system);
  }
  return {};
}

#else

bool has_lapack() {
  return false;
}
LapackOutcome solve_by_lapack(LapackDriver, MatrixView<double>, MatrixView<double>,
                              std::span<std::byte>) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

}  // namespace lupine
