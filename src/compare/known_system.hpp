// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A system whose solution is known exactly.
#pragma once

#include <cstdint>

#include "core/random.hpp"
#include "generate/gallery.hpp"
#include "source/source.hpp"

namespace lupine {

/// A matrix of the gallery, rounded to multiples of q, and x with x_j = 1 or -1: where n times the
/// largest magnitude is at most 2^52 q, all sums of A x are exact in FP64, in any order, and so is
/// b = A x.
class KnownSystem final : public MatrixSource {
 public:
  KnownSystem(GalleryKind kind, std::int64_t n, std::uint64_t seed);

  std::int64_t n() const override { return gallery_.n(); }
  std::string description() const override;
  void check(const Communicator&) const override {}
  void fill(const ProcessGrid& grid, const Distribution& rows, const Distribution& columns,
            PartWriter& a) const override;

  /// a_ij, indices from 0: the gallery's, rounded to a multiple of quantum().
  double operator()(std::int64_t i, std::int64_t j) const;
  /// q, a power of two.
  double quantum() const { return quantum_; }
  /// x_j.
  double x(std::int64_t j) const {
    return (random_bits(seed_, static_cast<std::uint64_t>(j)) & 1) == 0 ? 1 : -1;
  }

 private:
  GallerySystem gallery_;
  std::uint64_t seed_;
  double quantum_;
};

}  // namespace lupine
