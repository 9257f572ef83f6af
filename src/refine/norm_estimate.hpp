// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// An estimate of a matrix's 1-norm from a few products with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "refine/vectors.hpp"

namespace lupine {

/// ||v||_1; infinity if v has a NaN.
double sum_of_magnitudes(const Vector& v);

/// A lower bound of ||B||_1 and a vector that shows it.
struct NormEstimate {
  double norm = 0;  ///< ||B x||_1
  Vector x;         ///< whole, ||x||_1 <= 1
};

/// A vector that is to be multiplied by matrix number `matrix`.
struct Probe {
  std::size_t matrix = 0;
  Vector v;  ///< whole
};
/// The products of probes, in their order.
using ProbeProducts = std::function<std::vector<Vector>(const std::vector<Probe>&)>;

/// A lower bound of ||B||_1, the largest column sum of |B|, for each of several matrices B of one
/// order; it is nearly always within a factor of three. A matrix needs at most seven products with
/// B and five with B^T, in six and five calls at most: each call takes the probes of all matrices.
/// Infinity if a product is not finite. N. J. Higham, "FORTRAN codes for estimating the one-norm of
/// a real or complex matrix", ACM Trans. Math. Softw. 14 (1988): the algorithm of LAPACK's dlacn2.
/// See docs/numerics.md.
/// @param order rows and columns of each B
/// @param matrices their number
/// @param apply v -> B v
/// @param apply_transposed v -> B^T v
std::vector<NormEstimate> estimate_one_norms(std::int64_t order, std::size_t matrices,
                                             const ProbeProducts& apply,
                                             const ProbeProducts& apply_transposed);

/// estimate_one_norms() for one matrix.
NormEstimate estimate_one_norm(std::int64_t order,
                               const std::function<Vector(const Vector&)>& apply,
                               const std::function<Vector(const Vector&)>& apply_transposed);

}  // namespace lupine
