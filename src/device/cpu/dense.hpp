// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Dense operations of one rank, by BLAS. Matrices are column-major, real or complex,
/// FP32 or FP64.
#pragma once

#include <complex>
#include <cstdint>

#include "core/matrix_view.hpp"

namespace speedwell {

/// C <- C + alpha A B, or C <- C + alpha A^T B. @throws Fault if a size
/// does not fit into the 32 bits of BLAS
void multiply_add(float alpha, MatrixView<const float> a, MatrixView<const float> b,
                  MatrixView<float> c, Transpose transpose = Transpose::no);
void multiply_add(double alpha, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> c, Transpose transpose = Transpose::no);
/// The same of complex matrices, with A^H in the place of A^T and a real alpha.
void multiply_add(std::complex<float> alpha, MatrixView<const std::complex<float>> a,
                  MatrixView<const std::complex<float>> b, MatrixView<std::complex<float>> c,
                  Transpose transpose = Transpose::no);
void multiply_add(std::complex<double> alpha, MatrixView<const std::complex<double>> a,
                  MatrixView<const std::complex<double>> b, MatrixView<std::complex<double>> c,
                  Transpose transpose = Transpose::no);
/// C <- C - A B, of complex ones by the BLAS's complex product: for some hundred rows A takes
/// longer to expand than that loses. @throws Fault as multiply_add()
template <class T>
void subtract_product(MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c);
/// X <- T^-1 X, or X <- T^-T X (of complex ones T^-H X), T the given triangle of `lu`.
/// @throws Fault as multiply_add()
void solve_triangle(Triangle triangle, Transpose transpose, MatrixView<const float> lu,
                    MatrixView<float> x);
void solve_triangle(Triangle triangle, Transpose transpose, MatrixView<const double> lu,
                    MatrixView<double> x);
void solve_triangle(Triangle triangle, Transpose transpose,
                    MatrixView<const std::complex<float>> lu, MatrixView<std::complex<float>> x);
void solve_triangle(Triangle triangle, Transpose transpose,
                    MatrixView<const std::complex<double>> lu, MatrixView<std::complex<double>> x);
/// A <- L\U with A = L U, without pivoting, L unit lower. A is square. Recursive, so that most of
/// the work is products.
/// @return the first i whose pivot is zero or not finite, or -1; L and U from i on are unspecified
std::int64_t factor_lu(MatrixView<float> a);

}  // namespace speedwell
