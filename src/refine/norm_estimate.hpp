// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Estimate of a 1-norm from a few products.
#pragma once

#include <cstdint>
#include <functional>

#include "refine/vectors.hpp"

namespace lupine {

/// A lower bound of ||B||_1, nearly always within a factor of three, from at most six products with
/// B and five with B^T: N. J. Higham, "FORTRAN codes for estimating the one-norm of a real or
/// complex matrix", ACM Trans. Math. Softw. 14 (1988), the algorithm of LAPACK's dlacn2. Infinity
/// where a product is not finite. Vectors are whole.
double estimate_one_norm(std::int64_t order, const std::function<Vector(const Vector&)>& apply,
                         const std::function<Vector(const Vector&)>& apply_transposed);

}  // namespace lupine
