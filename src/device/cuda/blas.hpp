// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The calls of cuBLAS that Lupine makes, on the stream of a lane. They do nothing if the result is
/// empty.
#pragma once

#include <cublas_v2.h>

#include "core/matrix_view.hpp"
#include "cuda/kernels.hpp"
#include "device/cuda/lane.hpp"

namespace lupine {

/// C <- C + alpha A B or C <- C + alpha A^T B in FP64. The peak of an H200's tensor cores is
/// 67 TFLOP/s.
void add_product(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
                 MatrixView<double> c, Transpose transpose = Transpose::no,
                 Fp64Products products = Fp64Products::native);
/// C <- C + alpha A B or C <- C + alpha A^T B in FP32.
void add_product(Lane& lane, float alpha, MatrixView<const float> a, MatrixView<const float> b,
                 MatrixView<float> c, Transpose transpose = Transpose::no);
/// B <- alpha T B (left) or B <- alpha B T (right), T a triangle of t or its transpose.
void triangle_product(Lane& lane, cublasSideMode_t side, Triangle triangle, float alpha,
                      MatrixView<const float> t, MatrixView<float> b,
                      Transpose transpose = Transpose::no);
/// B <- T^-1 B, T the unit lower triangle of t.
void solve_unit_lower_left(Lane& lane, MatrixView<const float> t, MatrixView<float> b);
void solve_unit_lower_left(Lane& lane, MatrixView<const double> t, MatrixView<double> b);
/// X <- T^-1 X or X <- T^-T X, T a triangle of t. Only that half of t is read: 4 n^2 bytes.
void solve_triangle(Lane& lane, Triangle triangle, Transpose transpose, MatrixView<const double> t,
                    MatrixView<double> x);

}  // namespace lupine
