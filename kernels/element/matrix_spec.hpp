// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmarks' matrices, element by element: any entry of A and b can be computed where it is
/// needed. Host and device code. docs/numerics.md has the formulas and their sources.
///
/// Random matrices are made of the stream x <- a x + c (mod 2^64) of HPL-AI and of
/// u(x) = x 2^-64 - 1/2. Entry (i, j) is u of the state after 1 + i + s j steps from the seed.
/// Entry i of b is u of the state after 1 + i steps from seed + 1; for `hpl`, it is entry (i, n) of
/// the matrix, as if that had one more column.
///
/// fasi-higham: M. Fasi, N. J. Higham, "Matrices with tunable infinity-norm condition number and no
/// need for pivoting in LU factorization", SIAM J. Matrix Anal. Appl. 42 (2021).
#pragma once

#include <speedwell/options.hpp>

#include <cmath>
#include <cstdint>

#include "element/element.hpp"

namespace speedwell {

/// One step of the random stream, or many steps at once: x -> a x + c (mod 2^64).
struct Affine {
  std::uint64_t a = 6364136223846793005u;
  std::uint64_t c = 1;

  SPEEDWELL_ELEMENT constexpr std::uint64_t operator()(std::uint64_t x) const { return a * x + c; }
  /// The steps of `first`, then these.
  SPEEDWELL_ELEMENT constexpr Affine after(Affine first) const {
    return {a * first.a, a * first.c + c};
  }
};

/// `steps` steps at once, found by repeated squaring.
SPEEDWELL_ELEMENT constexpr Affine jump(std::uint64_t steps) {
  Affine result{1, 0};
  Affine power{};
  for (; steps != 0; steps >>= 1) {
    if (steps & 1) result = power.after(result);
    power = power.after(power);
  }
  return result;
}

/// u(x) in [-1/2, 1/2], with the roundings of (double)x * 2^-64 - 0.5.
SPEEDWELL_ELEMENT constexpr double uniform(std::uint64_t x) {
  return static_cast<double>(x) * 0x1p-64 - 0.5;
}

/// uniform(x) by a fused multiplication and addition, which is one instruction on a GPU. The
/// product is exact, so that the results are equal.
SPEEDWELL_ELEMENT double fused_uniform(std::uint64_t x) {
  return std::fma(static_cast<double>(x), 0x1p-64, -0.5);
}

/// All parameters of A and b. Trivially copyable, so that a kernel takes it by value.
struct MatrixSpec {
  MatrixKind kind = MatrixKind::scaled_diagonal;
  std::int64_t n = 0;
  std::uint64_t seed = 1;
  std::int64_t stride = 0;           ///< s, stream steps from one column to the next
  double shift = 0;                  ///< scaled-diagonal: c sqrt(n), added to the diagonal
  double alpha = 0;                  ///< alpha of fasi-higham
  double beta = 0;                   ///< beta of fasi-higham
  const double* diagonal = nullptr;  ///< dominant: all n diagonal entries; not owned

  /// Whether entries are made of the random stream.
  SPEEDWELL_ELEMENT bool random() const { return kind != MatrixKind::fasi_higham; }

  /// The state of the stream for entry (i, j). @pre random()
  SPEEDWELL_ELEMENT std::uint64_t state(std::int64_t i, std::int64_t j) const {
    SPEEDWELL_ELEMENT_EXPECTS(random());
    return jump(1 + static_cast<std::uint64_t>(i) +
                static_cast<std::uint64_t>(stride) * static_cast<std::uint64_t>(j))(seed);
  }
  /// a_ij of fasi-higham for i != j: -beta + alpha beta i above the diagonal,
  /// -alpha + alpha beta j below it.
  SPEEDWELL_ELEMENT double structured(std::int64_t i, std::int64_t j) const {
    const double ab = alpha * beta;
    return i < j ? ab * static_cast<double>(i) - beta : ab * static_cast<double>(j) - alpha;
  }
  /// The regular value at (i, j): a_ij for i != j. Loops generate regular values, and correct the
  /// diagonal afterwards.
  SPEEDWELL_ELEMENT double regular(std::int64_t i, std::int64_t j) const {
    return random() ? uniform(state(i, j)) : structured(i, j);
  }
  /// a_ii, given regular(i, i).
  SPEEDWELL_ELEMENT double diagonal_entry(std::int64_t i, double regular) const {
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
  SPEEDWELL_ELEMENT double entry(std::int64_t i, std::int64_t j) const {
    const double value = regular(i, j);
    return i == j ? diagonal_entry(i, value) : value;
  }
  /// The state of the stream for b_i.
  SPEEDWELL_ELEMENT std::uint64_t right_hand_side_state(std::int64_t i) const {
    return kind == MatrixKind::hpl ? state(i, n)
                                   : jump(1 + static_cast<std::uint64_t>(i))(seed + 1);
  }
  /// b_i.
  SPEEDWELL_ELEMENT double right_hand_side(std::int64_t i) const {
    return uniform(right_hand_side_state(i));
  }
  /// b_i for `count` indices from `first` on, with one jump in the stream for all of them.
  void right_hand_side(std::int64_t first, std::int64_t count, double* b) const {
    std::uint64_t state = right_hand_side_state(first);
    for (std::int64_t i = 0; i < count; ++i, state = Affine{}(state)) b[i] = uniform(state);
  }
};

}  // namespace speedwell
