// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// LU factorization with partial pivoting of a matrix that one process holds whole.
#pragma once

#include <cstdint>
#include <span>

#include "core/interrupt.hpp"
#include "core/matrix_view.hpp"
#include "core/scalar.hpp"
#include "host/lapack_lu.hpp"

namespace speedwell {

/// Which panels of a matrix another library's getrf factors whole. It cannot be interrupted.
struct WholePanels {
  const LapackRoutines* by = nullptr;  ///< null: none
  double most = 2e11;                  ///< operations of one panel, for which two cores take 1.5 s
};

/// a <- L\U of P A = L U with partial pivoting, as LAPACK's getrf: `pivots` and the form of L\U are
/// those that its getrs takes. Recursive, so that most of the work is products of matrices. For
/// some hundred rows OpenBLAS's dgetrf and sgetrf take up to 1.7 times as long, its complex ones up
/// to 1.4. An Inf or NaN in A ends in an Inf or NaN of L\U. It uses the threads of the BLAS.
/// @param pivots the rows that were exchanged, counted from 1: row i with row pivots[i - 1] >= i
/// @param interrupt asked on the way, where it is not null; once it has ended, L\U and the returned
/// index are unspecified
/// @param panels that another library factors; not asked for `interrupt`
/// @return the 0-based index of the first pivot that is exactly zero; -1 if there is none
/// @param T float, double, or std::complex of one of them
/// @pre a is square, with pivots.size() rows, fewer than 2^31
template <class T>
std::int64_t factor_pivoted(MatrixView<T> a, std::span<int> pivots, Interrupt* interrupt = nullptr,
                            const WholePanels& panels = {});

/// X <- A^-1 X or A^-T X with the factors of factor_pivoted(), for small A: up to five times as
/// fast as OpenBLAS's getrs. Both triangles become unit lower ones, by a division of rows and by
/// reversals, so that an x has the backward error of a triangular solve but for two roundings.
/// @pre x has as many rows as lu
template <class T>
void solve_pivoted(Transpose transpose, MatrixView<const T> lu, std::span<const int> pivots,
                   MatrixView<T> x);

/// The largest order of a matrix that is one such panel.
std::int64_t most_whole(Field field);

}  // namespace speedwell
