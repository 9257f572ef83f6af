// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's solvers as OpenBLAS has them, to compare with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"
#include "core/numbers.hpp"
#include "core/scalar.hpp"

namespace speedwell {

/// dgesv: FP64 throughout. dsgesv: FP32 factors, refined to FP64. dgesvx: FP64 with scales
/// (FACT = 'E'), refinement, an estimate of the condition number, and bounds of the errors.
/// dgesvxx: the same with residuals in twice FP64's precision, by dgerfsx. Of a complex system they
/// stand for zgesv, zcgesv, zgesvx and zgesvxx.
enum class LapackDriver { dgesv, dsgesv, dgesvx, dgesvxx };

/// False where OpenBLAS was built without LAPACK.
bool has_lapack();
/// Whether the library that is loaded has the driver: dgesvxx only where its LAPACK was built with
/// XBLAS.
bool has_lapack(LapackDriver driver, Field field);

/// LAPACK's output arguments INFO, ITER, RCOND, and of FERR (dgesvxx: ERR_BNDS_NORM) the largest.
struct LapackOutcome {
  /// 0: solved; i from 1 to n: pivot i (counted from 1) is zero; n + 1: dgesvx solved, but A is
  /// singular to working precision; n + j: dgesvxx does not vouch for solution j.
  int info = 0;
  int iterations = 0;      ///< dsgesv: corrections; negative: it gave up and factored again in FP64
  double rcond = unknown;  ///< dgesvx: estimate of 1 / (||A||_1 ||A^-1||_1) of the scaled matrix
  double forward_bound = unknown;  ///< dgesvx, dgesvxx: of ||x - x*|| / ||x||, estimated
};

/// Bytes of workspace that the driver needs beside A and x: FP32 copies of A and x (dsgesv) or the
/// factors (dgesvx, dgesvxx); and b, which both keep, and the residuals of dsgesv. Twice that for
/// complex numbers.
/// @param n,rhs the rows of x, and its columns; as double where their products may overflow
template <class Number>
constexpr Number lapack_workspace(LapackDriver driver, Number n, Number rhs) {
  switch (driver) {
    case LapackDriver::dgesv:
      return 0;
    case LapackDriver::dsgesv:
      return 4 * n * (n + rhs) + 16 * n * rhs;
    case LapackDriver::dgesvx:
    case LapackDriver::dgesvxx:
      return 8 * n * (n + rhs);
  }
  return 0;
}

/// x <- A^-1 x by LU with partial pivoting, on the threads of the BLAS. A is overwritten. T is
/// double or std::complex<double>.
/// @param x one or several columns, without gaps between them
/// @param workspace of lapack_workspace(driver, n, x.columns) bytes, aligned as a double is
/// @pre A is square; x has as many rows, which are its leading dimension; fewer than 2^31 rows and
///      columns; workspace is large enough
/// @throws Fault unless has_lapack(driver, field_of<T>)
template <class T>
LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<T> a, MatrixView<T> x,
                              std::span<std::byte> workspace);

}  // namespace speedwell
