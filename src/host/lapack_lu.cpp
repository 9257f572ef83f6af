// SPDX-License-Identifier: BSD-3-Clause
#include "host/lapack_lu.hpp"

#include <lupine/error.hpp>

#include "core/expects.hpp"

#ifdef LUPINE_WITH_LAPACK
// The Fortran interface; integers of this BLAS have 32 bits (see dense.cpp). The last argument of
// dgetrs is the length of `transpose`, which Fortran passes by value.
extern "C" {
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void dgetrs_(const char* transpose, const int* n, const int* nrhs, const double* a, const int* lda,
             const int* pivots, double* b, const int* ldb, int* info, std::size_t length);
}
#endif

namespace lupine {

#ifdef LUPINE_WITH_LAPACK

std::int64_t factor_by_lapack(MatrixView<double> a, std::span<int> pivots) {
  LUPINE_EXPECTS(a.rows == a.columns && a.rows == std::ssize(pivots) &&
                 a.rows < std::int64_t{1} << 31);
  const int n = static_cast<int>(a.rows);
  const int ld = static_cast<int>(a.ld);
  int info = 0;
  dgetrf_(&n, &n, a.data, &ld, pivots.data(), &info);
  return info - 1;
}

void solve_by_lapack(Transpose transpose, MatrixView<const double> lu, std::span<const int> pivots,
                     std::span<double> x) {
  LUPINE_EXPECTS(lu.rows == lu.columns && lu.rows == std::ssize(pivots) &&
                 (lu.rows == 0 ? x.empty() : std::ssize(x) % lu.rows == 0));
  if (x.empty()) return;
  const char form = transpose == Transpose::yes ? 'T' : 'N';
  const int n = static_cast<int>(lu.rows);
  const int ld = static_cast<int>(lu.ld);
  const int count = static_cast<int>(std::ssize(x) / lu.rows);
  // OpenBLAS packs the factors for several vectors, which takes longer than solving for each.
  constexpr int few = 3;
  const int together = count <= few ? 1 : count;
  int info = 0;
  for (int k = 0; k < count; k += together)
    dgetrs_(&form, &n, &together, lu.data, &ld, pivots.data(), x.data() + std::ptrdiff_t{k} * n, &n,
            &info, 1);
}

#else

std::int64_t factor_by_lapack(MatrixView<double>, std::span<int>) {
  throw Fault("OpenBLAS was built without LAPACK");
}
void solve_by_lapack(Transpose, MatrixView<const double>, std::span<const int>, std::span<double>) {
  throw Fault("OpenBLAS was built without LAPACK");
}

#endif

}  // namespace lupine
