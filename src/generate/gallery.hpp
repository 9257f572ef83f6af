// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Systems A x = b as users have them, of any order, as functions of the indices. docs/numerics.md,
/// section 2.4, has the definitions, their sources and the condition numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix_view.hpp"

namespace lupine {

enum class GalleryKind {
  gaussian,  ///< a_ij normal, with mean 0 and variance 1
  uniform,   ///< a_ij uniform in (-1, 1)
  kernel,    ///< a_ij = exp(-|p_i - p_j|), p_i random points of the unit cube
  boundary,  ///< Symm's integral equation on an ellipse, by the midpoint rule
  toeplitz,  ///< a_ij = t(i - j), t uniform in (-1, 1)
  graded,    ///< singular values from 1 to 1e-13 with a constant ratio
  shifted,   ///< `gaussian` + 2 sqrt(n) I
  large      ///< 2^20 `shifted`: entries beyond FP16's range
};
constexpr std::array<std::pair<GalleryKind, std::string_view>, 8> gallery_names{
    {{GalleryKind::gaussian, "gaussian"},
     {GalleryKind::uniform, "uniform"},
     {GalleryKind::kernel, "kernel"},
     {GalleryKind::boundary, "boundary"},
     {GalleryKind::toeplitz, "toeplitz"},
     {GalleryKind::graded, "graded"},
     {GalleryKind::shifted, "shifted"},
     {GalleryKind::large, "large"}}};
std::string_view name(GalleryKind kind);
std::optional<GalleryKind> gallery_kind(std::string_view name);
/// "gaussian, uniform, ...".
std::string gallery_list();

/// A system of the gallery: n x n in FP64, with any number of right-hand sides b, uniform in (-1,
/// 1) and independent of each other. The random numbers are a hash of seed and indices, so they are
/// the same bits on every machine; entries differ by what its log, exp, cos and sqrt round. An
/// entry takes O(1) operations; the object holds O(n) numbers.
class GallerySystem {
 public:
  /// @pre n >= 1
  GallerySystem(GalleryKind kind, std::int64_t n, std::uint64_t seed);

  std::int64_t n() const { return n_; }
  /// a_ij, indices from 0.
  double operator()(std::int64_t i, std::int64_t j) const;
  /// No entry's magnitude is larger.
  double bound() const;
  /// b_ik, element i of right-hand side k, indices from 0.
  double right_hand_side(std::int64_t i, std::int64_t k) const;
  /// The first `count` right-hand sides, n x count, column-major, by the threads of OpenMP.
  std::vector<double> right_hand_sides(std::int64_t count) const;
  /// a <- the rows of A from `first` on, by the threads of OpenMP. @pre a has n columns
  void fill(MatrixView<double> a, std::int64_t first = 0) const;

 private:
  GalleryKind kind_;
  std::int64_t n_;
  std::uint64_t seed_;
  double scale_ = 1;                          // of gaussian and what is made of it
  double shift_ = 0;                          // added to the diagonal
  std::array<std::vector<double>, 5> parts_;  // of O(n): see the constructor's functions
};

}  // namespace lupine
