// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The calls of cuBLAS that Speedwell makes, on the stream of a lane. They do nothing if the result
/// is empty. T is float, double, or std::complex of one of them, whose elements are aligned to
/// their size.
#pragma once

#include <cublas_v2.h>

#include "core/matrix_view.hpp"
#include "cuda/kernels.hpp"
#include "device/cuda/lane.hpp"

namespace speedwell {

/// C <- beta C + alpha A B or C <- beta C + alpha A^T B. FP64 products are of the kind `products`:
/// the peak of an H200's tensor cores is 67 TFLOP/s.
template <class T>
void add_product(Lane& lane, T alpha, MatrixView<const T> a, MatrixView<const T> b, MatrixView<T> c,
                 Transpose transpose = Transpose::no, Fp64Products products = Fp64Products::native,
                 T beta = 1);
/// B <- alpha T B (left) or B <- alpha B T (right), T a triangle of t or its transpose.
void triangle_product(Lane& lane, cublasSideMode_t side, Triangle triangle, float alpha,
                      MatrixView<const float> t, MatrixView<float> b,
                      Transpose transpose = Transpose::no);
/// B <- T^-1 B, T the unit lower triangle of t.
template <class T>
void solve_unit_lower_left(Lane& lane, MatrixView<const T> t, MatrixView<T> b);
/// X <- T^-1 X or X <- T^-T X, of complex numbers T^-H X, T a triangle of t. Only that half of t is
/// read.
template <class T>
void solve_triangle(Lane& lane, Triangle triangle, Transpose transpose, MatrixView<const T> t,
                    MatrixView<T> x);

}  // namespace speedwell
