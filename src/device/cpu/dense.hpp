// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Dense operations of one rank, by BLAS. Matrices are column-major, FP32 or FP64.
#pragma once

#include <cstdint>

#include "core/matrix_view.hpp"

namespace lupine {

/// C <- C + alpha A B. @throws Fault if a size does not fit into the 32 bits of BLAS
void multiply_add(float alpha, MatrixView<const float> a, MatrixView<const float> b,
                  MatrixView<float> c);
void multiply_add(double alpha, MatrixView<const double> a, MatrixView<const double> b,
                  MatrixView<double> c);
/// A <- L\U with A = L U, without pivoting, L unit lower. A is square. Recursive, so that most of
/// the work is products.
/// @return the first i whose pivot is zero or not finite, or -1; L and U from i on are unspecified
std::int64_t factor_lu(MatrixView<float> a);

}  // namespace lupine
