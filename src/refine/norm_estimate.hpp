// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// An estimate of a matrix's 1-norm from a few products with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "refine/vectors.hpp"

namespace speedwell {

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

/// Vectors of each matrix of this order that are multiplied together: fewer for large ones, where
/// each takes time.
constexpr std::size_t probes_together(std::int64_t order) {
  return order <= 1024 ? 4 : 2;
}

/// A lower bound of ||B||_1, the largest column sum of |B|, for each of several matrices B of one
/// order; it is nearly always within a factor of three, and exact up to order 4.
/// N. J. Higham, F. Tisseur, "A block algorithm for matrix 1-norm estimation, with an application
/// to 1-norm pseudospectra", SIAM J. Matrix Anal. Appl. 21 (2000), Algorithm 2.4: a search that
/// begins with several vectors, random ones among them, does not end in a local maximum as easily
/// as that of LAPACK's dlacn2 with one. All matrices take at most five products with B and four
/// with B^T, each with probes_together() vectors of each matrix. Infinity if a product is not
/// finite. See docs/numerics.md.
/// @param order rows and columns of each B
/// @param matrices their number
/// @param apply v -> B v
/// @param apply_transposed v -> B^T v
/// @param seed of the random vectors
std::vector<NormEstimate> estimate_one_norms(std::int64_t order, std::size_t matrices,
                                             const ProbeProducts& apply,
                                             const ProbeProducts& apply_transposed,
                                             std::uint64_t seed);

}  // namespace speedwell
