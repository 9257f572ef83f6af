// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One small system, or one whose matrix has a form, by LAPACK's factors in FP64.
#pragma once

#include <cstdint>

#include "core/matrix_view.hpp"
#include "host/lapack_forms.hpp"

namespace speedwell {

/// What is done to A before anything else: the elements that its form does not read become those
/// that it stands for, and diagonals outside of the bands and the other triangle become 0.
template <class T>
void make_whole(const FormOptions& options, MatrixView<T> a);

/// X = A^-1 B, if there is nothing to say of it: A is scaled by powers of two (symmetrically, where
/// it is symmetric), factored by LAPACK, and X is refined until the residual of each column is
/// small: of up to 8 columns by componentwise errors, of more by normwise ones. Random vectors show
/// ||A^-1||, so that the largest error of an x that is returned is below half of its size, but for
/// a probability of 1e-6. What is judged is x as it is returned. Formulas: docs/numerics.md, 5.4.
/// T is double or std::complex<double>. It uses the threads of the BLAS; one, inside of a parallel
/// region of OpenMP.
/// @param a whole, see make_whole()
/// @param tolerance of the errors of residuals; 0: default_tolerance()
/// @param seed of the random vectors: see process_seed()
/// @return 0: solved; i from 1 to n: A is not positive definite, since its leading minor of order i
/// is not positive, or not in FP64; -1: anything else, such as a singular or ill-conditioned A, or
/// an x with an Inf or too small for FP64: solve() finds out what there is to say. X is anything
/// then.
/// @pre A is square and not empty; B and X have as many rows, and at least one column
/// @throws Fault unless has_lapack(), std::bad_alloc
template <class T>
int solve_form(const FormOptions& options, MatrixView<const T> a, MatrixView<const T> b,
               MatrixView<T> x, double tolerance, std::uint64_t seed);

}  // namespace speedwell
