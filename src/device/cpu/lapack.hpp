// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's solvers as OpenBLAS has them, to compare with.
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"

namespace lupine {

/// dgesv: FP64 throughout. dsgesv: FP32 factors, refined to FP64.
enum class LapackDriver { dgesv, dsgesv };

/// False where OpenBLAS was built without LAPACK.
bool has_lapack();

/// LAPACK's output arguments INFO and ITER.
struct LapackOutcome {
  int info = 0;        ///< 0: solved; i > 0: pivot i (counted from 1) is zero
  int iterations = 0;  ///< dsgesv: corrections; negative: it gave up and factored again in FP64
};

/// Number of floats of workspace that the driver needs beside A.
constexpr std::int64_t lapack_workspace(LapackDriver driver, std::int64_t n) {
  return driver == LapackDriver::dsgesv ? n * (n + 1) : 0;
}

/// x <- A^-1 x by LU with partial pivoting, on the threads of the BLAS. A is overwritten.
/// @param workspace of lapack_workspace(driver, n) floats
/// @pre A is square, with x.size() rows, fewer than 2^31; workspace is large enough
/// @throws Fault unless has_lapack()
LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<double> a, std::span<double> x,
                              std::span<float> workspace);

}  // namespace lupine
