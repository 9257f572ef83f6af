// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The calls of cuBLAS that Lupine makes, on a lane. Empty matrices are nothing to do.
#pragma once

#include <cublas_v2.h>

#include "core/matrix_view.hpp"
#include "cuda/kernels.hpp"
#include "device/cuda/lane.hpp"

namespace lupine {

/// C <- C + alpha A B. An H200's tensor cores do 67 TFLOP/s of it at most.
void add_product(Lane& lane, double alpha, MatrixView<const double> a, MatrixView<const double> b,
                 MatrixView<double> c);
/// B <- alpha T B or alpha B T, T a triangle of t.
void triangle_product(Lane& lane, cublasSideMode_t side, cuda::Triangle triangle, float alpha,
                      MatrixView<const float> t, MatrixView<float> b);
/// B <- T^-1 B, T the unit lower triangle of t.
void solve_unit_lower_left(Lane& lane, MatrixView<const float> t, MatrixView<float> b);
void solve_unit_lower_left(Lane& lane, MatrixView<const double> t, MatrixView<double> b);
/// x <- T^-1 x or T^-T x, T a triangle of t, of which half is read: 4 n^2 bytes.
void solve_vector(Lane& lane, cuda::Triangle triangle, Transpose transpose,
                  MatrixView<const double> t, double* x);

}  // namespace lupine
