// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// An estimate of a matrix's 1-norm from a few products with it.
#pragma once

#include <cstdint>
#include <functional>

#include "refine/vectors.hpp"

namespace lupine {

/// ||v||_1; infinity if v has a NaN.
double sum_of_magnitudes(const Vector& v);

/// A lower bound of ||B||_1 and a vector that shows it.
struct NormEstimate {
  double norm = 0;  ///< ||B x||_1
  Vector x;         ///< whole, ||x||_1 <= 1
};

/// A lower bound of ||B||_1, the largest column sum of |B|; it is nearly always within a factor of
/// three. It needs at most seven products with B and five with B^T. Infinity if a product is not
/// finite. N. J. Higham, "FORTRAN codes for estimating the one-norm of a real or complex matrix",
/// ACM Trans. Math. Softw. 14 (1988): the algorithm of LAPACK's dlacn2. See docs/numerics.md.
/// @param order rows and columns of B
/// @param apply v -> B v, for whole vectors
/// @param apply_transposed v -> B^T v, for whole vectors
NormEstimate estimate_one_norm(std::int64_t order,
                               const std::function<Vector(const Vector&)>& apply,
                               const std::function<Vector(const Vector&)>& apply_transposed);

}  // namespace lupine
