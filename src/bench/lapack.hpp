// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's solvers, to compare with: those of OpenBLAS.
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"

namespace lupine {

/// FP64 throughout; or FP32 factors, refined to FP64.
enum class LapackDriver { dgesv, dsgesv };

/// False where OpenBLAS was built without LAPACK.
bool has_lapack();

/// What LAPACK says, in its words.
struct LapackOutcome {
  int info = 0;        ///< 0; i: pivot i, from 1, is zero
  int iterations = 0;  ///< dsgesv: corrections; negative: it gave up, and factored again in FP64
};

/// Floats of workspace that dsgesv needs beside A; 0 for dgesv.
constexpr std::int64_t lapack_workspace(LapackDriver driver, std::int64_t n) {
  return driver == LapackDriver::dsgesv ? n * (n + 1) : 0;
}

/// x <- A^-1 x by partial pivoting, with the threads of the BLAS. A is overwritten.
/// @param workspace of lapack_workspace(driver, n) floats
/// @pre A is square, of x.size() rows, fewer than 2^31; workspace is that large
/// @throws Fault unless has_lapack()
LapackOutcome solve_by_lapack(LapackDriver driver, MatrixView<double> a, std::span<double> x,
                              std::span<float> workspace);

}  // namespace lupine
