// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices that solvers of linear systems are tried on. Sources: Higham, "Accuracy and Stability
/// of Numerical Algorithms", chapters 9, 22 and 28, and LAPACK's testing guide (LAWN 41).
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "plain.hpp"

namespace lupine::test {

/// Uniform in (-1, 1).
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
/// n values from 1 down to 1/kappa, each the same part of the one before.
std::vector<double> geometric(std::int64_t n, double kappa);

Square hilbert(std::int64_t n);
/// x_j^i, x_j in [0, 1] at equal distances or Chebyshev's points of [-1, 1].
Square vandermonde(std::int64_t n, bool chebyshev);
Square frank(std::int64_t n);
/// Upper triangular: diag(1, s, s^2, ...) (I - cos(theta) above the diagonal), s = sin(theta).
Square kahan(std::int64_t n, double theta);
/// Partial pivoting multiplies its entries by 2^(n-1), exactly.
Square wilkinson_growth(std::int64_t n);
/// Growth by 1.9^(n-1), and nothing exact: a random triangle with multipliers of 0.9 (Higham &
/// Higham 1989).
Square random_growth(std::int64_t n, std::uint64_t seed);
/// Discrete cosine transform, orthogonal.
Square cosines(std::int64_t n);
/// Rows and columns in random order.
Square shuffled(const Square& a, std::uint64_t seed);
/// Row i times 10^u, u random between -rows and rows; columns too.
Square badly_scaled(Square a, double rows, double columns, std::uint64_t seed);

/// b: with the columns of A scaled to a largest entry of 1, A times ones; and random numbers of the
/// size of that A's rows. The solutions of badly scaled systems are then numbers in FP64.
struct Example {
  std::string name;
  Square a;
  Plain b;
};

/// All of them nonsingular.
std::vector<Example> gallery();

/// Exactly singular, and each pivot that elimination meets is exact, with whatever powers of two
/// the rows and columns are scaled by: `pivot` is the first zero one, from 0.
struct SingularExample {
  std::string name;
  Square a;
  std::int64_t pivot;
};
std::vector<SingularExample> singular_gallery();

}  // namespace lupine::test
