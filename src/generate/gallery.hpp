// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Systems A x = b of users, of any order, as functions of the indices. docs/numerics.md,
/// section 2.4, has the definitions, their sources and the condition numbers.
#pragma once

#include <array>
#include <complex>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/matrix_view.hpp"
#include "core/scalar.hpp"

namespace speedwell {

enum class GalleryKind {
  gaussian,          ///< a_ij normal, with mean 0 and variance 1
  uniform,           ///< a_ij uniform in (-1, 1)
  kernel,            ///< a_ij = exp(-|p_i - p_j|), p_i random points of the unit cube
  boundary,          ///< Symm's integral equation on an ellipse, by the midpoint rule
  toeplitz,          ///< a_ij = t(i - j), t uniform in (-1, 1)
  graded,            ///< singular values from 1 to 1e-13 with a constant ratio
  shifted,           ///< `gaussian` + 2 sqrt(n) I
  large,             ///< 2^20 `shifted`: entries beyond FP16's range
  complex_gaussian,  ///< complex, real and imaginary parts as in `gaussian`
  complex_shifted,   ///< `complex_gaussian` + 2 sqrt(2 n) I
  sphere,            ///< complex: sound at a soft sphere, ten points a wavelength
  plate              ///< complex: sound at a soft square plate, by the method of moments
};
constexpr std::array<std::pair<GalleryKind, std::string_view>, 12> gallery_names{
    {{GalleryKind::gaussian, "gaussian"},
     {GalleryKind::uniform, "uniform"},
     {GalleryKind::kernel, "kernel"},
     {GalleryKind::boundary, "boundary"},
     {GalleryKind::toeplitz, "toeplitz"},
     {GalleryKind::graded, "graded"},
     {GalleryKind::shifted, "shifted"},
     {GalleryKind::large, "large"},
     {GalleryKind::complex_gaussian, "complex-gaussian"},
     {GalleryKind::complex_shifted, "complex-shifted"},
     {GalleryKind::sphere, "sphere"},
     {GalleryKind::plate, "plate"}}};
std::string_view name(GalleryKind kind);
/// Whose numbers the entries are.
Field field_of_kind(GalleryKind kind);
std::optional<GalleryKind> gallery_kind(std::string_view name);
/// "gaussian, uniform, ...".
std::string gallery_list();
/// The same of the real ones.
std::string real_gallery_list();

/// A system of the gallery: n x n in FP64, real or complex, with any number of right-hand sides b,
/// uniform in (-1, 1) and independent of each other; of complex ones both parts. The random numbers
/// are a hash of seed and indices, so they are the same bits on every machine; entries differ by
/// what its log, exp, cos and sqrt round. An entry takes O(1) operations; the object holds O(n)
/// numbers, which `sphere` takes O(n^2) to find.
class GallerySystem {
 public:
  /// @pre n >= 1
  GallerySystem(GalleryKind kind, std::int64_t n, std::uint64_t seed);

  std::int64_t n() const { return n_; }
  Field field() const { return field_of_kind(kind_); }
  /// Numbers of a vector: n, or of complex elements 2 n.
  std::int64_t numbers() const { return parts_of(field()) * n_; }
  /// a_ij of a real system, indices from 0.
  double operator()(std::int64_t i, std::int64_t j) const;
  /// a_ij of a complex system.
  std::complex<double> complex_entry(std::int64_t i, std::int64_t j) const;
  /// No entry's magnitude is larger.
  double bound() const;
  /// b_ik, number i of right-hand side k, indices from 0; of complex elements two each.
  double right_hand_side(std::int64_t i, std::int64_t k) const;
  /// The first `count` right-hand sides, numbers() x count, column-major, by the threads of OpenMP.
  std::vector<double> right_hand_sides(std::int64_t count) const;
  /// a <- the rows of A from `first` on, by the threads of OpenMP; of complex elements each is two
  /// rows of numbers. @pre a has n columns
  void fill(MatrixView<double> a, std::int64_t first = 0) const;

 private:
  GalleryKind kind_;
  std::int64_t n_;
  std::uint64_t seed_;
  double scale_ = 1;                          // of gaussian and what is made of it
  double shift_ = 0;                          // added to the diagonal
  double wave_ = 0;                           // the wavenumber of sphere and plate
  std::array<std::vector<double>, 5> parts_;  // of O(n): see the constructor's functions
};

}  // namespace speedwell
