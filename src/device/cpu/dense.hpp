// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Dense operations on one node, over BLAS. Column-major, FP32 or FP64.
#pragma once

#include <cstdint>

#include "core/matrix_view.hpp"

namespace lupine {

/// C <- C + alpha A B.
void multiply_add(float alpha, MatrixView<const float> a, MatrixView<const float> b,
                  MatrixView<float> c);
void multiply_add(double alpha, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> c);
/// A <- L\U without pivoting, by recursion onto products.
/// @return the first i whose pivot is zero or not finite, or -1; rows from there on are unspecified
std::int64_t factor_lu(MatrixView<float> a);

}  // namespace lupine
