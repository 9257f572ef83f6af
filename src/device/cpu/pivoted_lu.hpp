// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization with partial pivoting of a real matrix that one process holds whole, in FP64.
#pragma once

#include <cstdint>
#include <span>

#include "core/matrix_view.hpp"

namespace lupine {

/// a <- L\U of P A = L U with partial pivoting, as LAPACK's dgetrf: `pivots` and the form of L\U
/// are those that its dgetrs takes. Recursive, so that most of the work is products of matrices. Up
/// to some hundred rows OpenBLAS's dgetrf takes up to 1.7 times as long. An Inf or NaN in A ends in
/// an Inf or NaN of L\U. It uses the threads of the BLAS.
/// @param pivots the rows that were exchanged, counted from 1: row i with row pivots[i - 1] >= i
/// @return the 0-based index of the first pivot that is exactly zero; -1 if there is none
/// @pre a is square, with pivots.size() rows, fewer than 2^31
std::int64_t factor_pivoted(MatrixView<double> a, std::span<int> pivots);

}  // namespace lupine
