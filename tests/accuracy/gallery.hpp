// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices for tests of solvers of linear systems. Sources: Higham, "Accuracy and Stability of
/// Numerical Algorithms", chapters 9, 22 and 28, and LAPACK's testing guide (LAWN 41).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plain.hpp"

namespace speedwell::test {

/// Random numbers, uniform in (-1, 1).
class Random {
 public:
  explicit Random(std::uint64_t seed) : bits_(seed) {}
  double operator()() { return (static_cast<double>(bits_() >> 12) + 0.5) * 0x1p-51 - 1; }
  double between(double low, double high) { return low + (high - low) * ((*this)() + 1) / 2; }
  std::int64_t below(std::int64_t count) {
    return static_cast<std::int64_t>(bits_() % static_cast<std::uint64_t>(count));
  }

 private:
  std::mt19937_64 bits_;
};

using Entry = std::function<double(std::int64_t i, std::int64_t j)>;
Square matrix_of(std::int64_t n, const Entry& entry);
Square random_matrix(std::int64_t n, std::uint64_t seed);

/// U diag(s) V^T with random orthogonal U and V.
Square with_singular_values(const std::vector<double>& s, std::uint64_t seed);
/// n values from 1 down to 1/kappa with a constant ratio.
std::vector<double> geometric(std::int64_t n, double kappa);

Square hilbert(std::int64_t n);
/// a_ij = x_j^i with x_j in [0, 1] at equal distances, or at the Chebyshev points of [-1, 1].
Square vandermonde(std::int64_t n, bool chebyshev);
Square frank(std::int64_t n);
/// Upper triangular: diag(1, s, s^2, ...) (I - cos(theta) above the diagonal), s = sin(theta).
Square kahan(std::int64_t n, double theta);
/// A matrix whose entries grow by a factor of exactly 2^(n-1) in LU with partial pivoting.
Square wilkinson_growth(std::int64_t n);
/// A matrix whose entries grow by a factor of 1.9^(n-1), with rounding errors in every operation: a
/// random triangle with multipliers of 0.9 (Higham & Higham 1989).
Square random_growth(std::int64_t n, std::uint64_t seed);
/// The matrix of the discrete cosine transform, which is orthogonal.
Square cosines(std::int64_t n);
/// The matrix with its rows and columns in random order.
Square shuffled(const Square& a, std::uint64_t seed);
/// The matrix with row i multiplied by 10^u, u random between -rows and rows, and its columns
/// likewise.
Square badly_scaled(Square a, double rows, double columns, std::uint64_t seed);

/// A system A x = b. In the gallery b has two columns: for the A whose columns are scaled to a
/// largest entry of 1, A times ones, and random numbers of the magnitude of A's rows. So the
/// solutions of badly scaled systems are in the range of FP64.
struct Example {
  std::string name;
  Square a;
  Plain b;
};

/// The examples. All their matrices are nonsingular.
std::vector<Example> gallery();

/// A singular matrix whose pivots are computed without rounding error, also if its rows and columns
/// are scaled by powers of two. `pivot` is the 0-based index of the first zero pivot.
struct SingularExample {
  std::string name;
  Square a;
  std::int64_t pivot;
};
std::vector<SingularExample> singular_gallery();

}  // namespace speedwell::test
