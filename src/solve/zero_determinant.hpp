// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether a determinant is exactly zero.
#pragma once

#include <complex>
#include <cstdint>
#include <vector>

#include "core/matrix_view.hpp"

namespace speedwell {

/// Tells exactly singular matrices from those that are close to singular ones: an FP64 number is a
/// whole number times a power of two, and so is a determinant. Elimination modulo a prime p, where
/// 1/2 is a whole number too, finds the determinant modulo p. The prime is drawn at random from
/// those between 2^61 and 2^62 that leave 1 when divided by 4, so that -1 has a square root, which
/// takes the place of i. A determinant that is not 0 is called so only if p divides it: of order
/// 512, it has at most 2^15 such factors, and there are more than 2^54 such primes.
class ZeroTest {
 public:
  /// Up to this order a test takes no more than some tenths of a second.
  static constexpr std::int64_t most = 512;

  ZeroTest();
  /// Whether det(A) = 0. n^3 / 3 multiplications at most, fewer where the rank is low.
  /// @param a square, of finite numbers
  bool is_zero(MatrixView<const double> a) const;
  bool is_zero(MatrixView<const std::complex<double>> a) const;

 private:
  using Word = std::uint64_t;
  template <class T>
  bool is_singular(MatrixView<const T> a) const;
  Word of(double value) const;
  Word of(std::complex<double> value) const;
  Word times(Word a, Word b) const;  // Montgomery's product a b / 2^64
  Word power(Word a, Word exponent) const;

  Word p_ = 0;
  Word inverse_ = 0;       // -1 / p modulo 2^64
  Word one_ = 0;           // 2^64 modulo p: 1 in Montgomery's form, as all of the following
  Word i_ = 0;             // a square root of -1
  std::vector<Word> two_;  // powers of 2
};

}  // namespace speedwell
