// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The matrices of the benchmark, element by element: every value of A and b can be computed
/// wherever it is needed. Host and device code.
///
/// Random matrices take the stream x <- a x + c (mod 2^64) of HPL-AI, u(x) = x 2^-64 - 1/2. Entry
/// (i, j) is the state after 1 + i + s j steps from the seed. Entry i of b is the state after 1 + i
/// steps from seed + 1; that of `hpl`, which has no rule for its diagonal, stands where a column n
/// of the matrix would.
///
/// fasi-higham: M. Fasi, N. J. Higham, "Matrices with tunable infinity-norm condition number and no
/// need for pivoting in LU factorization", SIAM J. Matrix Anal. Appl. 42 (2021).
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "element/element.hpp"

namespace lupine {

/// A step, or many at once, of the random stream: x -> a x + c (mod 2^64).
struct Affine {
  std::uint64_t a = 6364136223846793005u;
  std::uint64_t c = 1;

  LUPINE_ELEMENT constexpr std::uint64_t operator()(std::uint64_t x) const { return a * x + c; }
  /// First `first`, then this.
  LUPINE_ELEMENT constexpr Affine after(Affine first) const {
    return {a * first.a, a * first.c + c};
  }
};

/// `steps` steps in one, by repeated squaring.
LUPINE_ELEMENT constexpr Affine jump(std::uint64_t steps) {
  Affine result{1, 0};
  Affine power{};
  for (; steps != 0; steps >>= 1) {
    if (steps & 1) result = power.after(result);
    power = power.after(power);
  }
  return result;
}

/// u in [-1/2, 1/2], rounded as (double)x * 2^-64 - 0.5 is.
LUPINE_ELEMENT constexpr double uniform(std::uint64_t x) {
  return static_cast<double>(x) * 0x1p-64 - 0.5;
}

/// Everything that determines A and b. Trivially copyable: a kernel takes it by value.
struct MatrixSpec {
  MatrixKind kind = MatrixKind::scaled_diagonal;
  std::int64_t n = 0;
  std::uint64_t seed = 1;
  std::int64_t stride = 0;           ///< s, stream steps from one column to the next
  double shift = 0;                  ///< scaled-diagonal: c sqrt(n), added to the diagonal
  double alpha = 0;                  ///< fasi-higham
  double beta = 0;                   ///< fasi-higham
  const double* diagonal = nullptr;  ///< dominant: all n diagonal entries

  LUPINE_ELEMENT bool random() const { return kind != MatrixKind::fasi_higham; }

  /// State of the stream at (i, j). @pre random()
  LUPINE_ELEMENT std::uint64_t state(std::int64_t i, std::int64_t j) const {
    LUPINE_ELEMENT_EXPECTS(random());
    return jump(1 + static_cast<std::uint64_t>(i) +
                static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(j))(seed);
  }
  /// a_ij off the diagonal of fasi-higham: -beta + alpha beta i above, -alpha + alpha beta j below.
  LUPINE_ELEMENT double structured(std::int64_t i, std::int64_t j) const {
    const double ab = alpha * beta;
    return i < j ? ab * static_cast<double>(i) - beta : ab * static_cast<double>(j) - alpha;
  }
  /// a_ij if no rule of the diagonal applied: what the loops generate before they mend the
  /// diagonal.
  LUPINE_ELEMENT double regular(std::int64_t i, std::int64_t j) const {
    return random() ? uniform(state(i, j)) : structured(i, j);
  }
  /// a_ii, `regular` being regular(i, i).
  LUPINE_ELEMENT double diagonal_entry(std::int64_t i, double regular) const {
    switch (kind) {
      case MatrixKind::scaled_diagonal:
        return regular + shift;
      case MatrixKind::fasi_higham:
        return alpha * beta * static_cast<double>(i) + 1;
      case MatrixKind::dominant:
        return diagonal[i];
      case MatrixKind::hpl:
        return regular;
    }
    return 0;
  }
  /// a_ij.
  LUPINE_ELEMENT double entry(std::int64_t i, std::int64_t j) const {
    const double value = regular(i, j);
    return i == j ? diagonal_entry(i, value) : value;
  }
  /// State of the stream for b_i.
  LUPINE_ELEMENT std::uint64_t right_hand_side_state(std::int64_t i) const {
    return kind == MatrixKind::hpl ? state(i, n)
                                   : jump(1 + static_cast<std::uint64_t>(i))(seed + 1);
  }
  /// b_i.
  LUPINE_ELEMENT double right_hand_side(std::int64_t i) const {
    return uniform(right_hand_side_state(i));
  }
  /// b_i of `count` indices from `first` on: one jump for all of them.
  void right_hand_side(std::int64_t first, std::int64_t count, double* b) const {
    std::uint64_t state = right_hand_side_state(first);
    for (std::int64_t i = 0; i < count; ++i, state = Affine{}(state)) b[i] = uniform(state);
  }
};

}  // namespace lupine
