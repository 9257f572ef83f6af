// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LAPACK's LU factorization in FP64 and its solves, as OpenBLAS has them: what dgesv and zgesv
/// call. They use the threads of the BLAS. T is double or std::complex<double>.
#pragma once

#include <complex>
#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"

namespace lupine {

/// a <- L\U of P A = L U with partial pivoting (dgetrf, zgetrf).
/// @param pivots the rows that were exchanged, as dgetrf numbers them
/// @return the 0-based index of the first pivot that is exactly zero; -1 if there is none
/// @pre a is square, with pivots.size() rows, fewer than 2^31 @throws Fault unless has_lapack()
template <class T>
std::int64_t factor_by_lapack(MatrixView<T> a, std::span<int> pivots);

/// x <- A^-1 x, or A^-T x (of a complex A, A^-H x), for each of some contiguous vectors x, with the
/// factors of factor_by_lapack() or factor_pivoted() (dgetrs, zgetrs).
/// @pre x.size() is a multiple of pivots.size(), which is the rows of lu
/// @throws Fault unless has_lapack()
template <class T>
void solve_by_lapack(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                     std::span<T> x);

}  // namespace lupine
