// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A system whose solution is known exactly.
#pragma once

#include <cstdint>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/random.hpp"
#include "generate/gallery.hpp"

namespace speedwell {

/// A matrix of the gallery, rounded to multiples of q, and x whose numbers are 1 or -1: where
/// numbers() times the largest magnitude is at most 2^52 q, all sums of A x are exact in FP64, in
/// any order, and so is b = A x.
class KnownSystem {
 public:
  KnownSystem(GalleryKind kind, std::int64_t n, std::uint64_t seed);

  std::int64_t n() const { return gallery_.n(); }
  Field field() const { return gallery_.field(); }
  /// Numbers of a vector, as GallerySystem::numbers().
  std::int64_t numbers() const { return gallery_.numbers(); }
  /// As GallerySystem::fill().
  void fill(MatrixView<double> a, std::int64_t first = 0) const;

  /// a_ij of a real A, indices from 0: the gallery's, rounded to a multiple of quantum().
  double operator()(std::int64_t i, std::int64_t j) const { return rounded(gallery_(i, j)); }
  /// q, a power of two.
  double quantum() const { return quantum_; }
  /// Number j of x: x_j, or of a complex system one of its parts.
  double x(std::int64_t j) const {
    return (random_bits(seed_, static_cast<std::uint64_t>(j)) & 1) == 0 ? 1 : -1;
  }
  /// All numbers of x.
  std::vector<double> solution() const;
  /// All numbers of b, by the threads of OpenMP.
  std::vector<double> right_hand_side() const;

 private:
  double rounded(double entry) const;

  GallerySystem gallery_;
  std::uint64_t seed_;
  double quantum_;
};

}  // namespace speedwell
