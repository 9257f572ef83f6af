// SPDX-License-Identifier: BSD-3-Clause
#include "generate/gallery.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"

namespace speedwell {

namespace {

constexpr double two_pi = 2 * std::numbers::pi;
/// Half-axes of the ellipse of `boundary`. Their mean, its logarithmic capacity, is not 1, where
/// Symm's equation has no unique solution.
constexpr double half_axis_x = 1;
constexpr double half_axis_y = 0.5;
constexpr double smallest_singular_value_log10 = -13;

/// The streams of random numbers that one seed gives.
enum class Stream : std::uint64_t { first, second, points, diagonals, left, right, b };

/// A random number in (0, 1), a multiple of 2^-54 that is neither 0 nor 1.
double unit(std::uint64_t seed, Stream stream, std::int64_t i, std::int64_t j = 0) {
  const std::uint64_t row = random_bits(random_bits(seed, static_cast<std::uint64_t>(stream)),
                                        static_cast<std::uint64_t>(i));
  const std::uint64_t bits = random_bits(row, static_cast<std::uint64_t>(j));
  return (static_cast<double>(bits >> 11) + 0.5) * 0x1p-53;
}
double symmetric(std::uint64_t seed, Stream stream, std::int64_t i, std::int64_t j = 0) {
  return 2 * unit(seed, stream, i, j) - 1;
}

/// G. E. P. Box, M. E. Muller, Ann. Math. Stat. 29 (1958).
double normal(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return std::sqrt(-2 * std::log(unit(seed, Stream::first, i, j))) *
         std::cos(two_pi * unit(seed, Stream::second, i, j));
}

template <class Value>
std::vector<double> sequence(std::int64_t count, const Value& value) {
  std::vector<double> all(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) all[static_cast<std::size_t>(i)] = value(i);
  return all;
}

std::vector<double> unit_vector(std::uint64_t seed, Stream stream, std::int64_t n) {
  std::vector<double> u = sequence(n, [&](std::int64_t i) { return symmetric(seed, stream, i); });
  double squares = 0;
  for (const double value : u) squares += value * value;
  for (double& value : u) value /= std::sqrt(squares);
  return u;
}

using Parts = std::array<std::vector<double>, 5>;

/// The points' coordinates.
Parts kernel_parts(std::int64_t n, std::uint64_t seed) {
  const auto coordinate = [&](std::int64_t axis) {
    return sequence(n, [&](std::int64_t i) { return unit(seed, Stream::points, i, axis); });
  };
  return {coordinate(0), coordinate(1), coordinate(2)};
}

/// The points' coordinates, and the diagonal of A.
Parts boundary_parts(std::int64_t n) {
  const auto count = static_cast<double>(n);
  const auto angle = [=](std::int64_t i) {
    return two_pi * (static_cast<double>(i) + 0.5) / count;
  };
  return {sequence(n, [&](std::int64_t i) { return half_axis_x * std::cos(angle(i)); }),
          sequence(n, [&](std::int64_t i) { return half_axis_y * std::sin(angle(i)); }),
          sequence(n, [&](std::int64_t i) {
            const double speed =
                std::hypot(half_axis_x * std::sin(angle(i)), half_axis_y * std::cos(angle(i)));
            return -std::log(speed / count) / count;
          })};
}

/// t(1 - n) to t(n - 1).
Parts toeplitz_parts(std::int64_t n, std::uint64_t seed) {
  return {sequence(2 * n - 1,
                   [&](std::int64_t k) { return symmetric(seed, Stream::diagonals, k - n + 1); })};
}

/// u, v, d, and the vectors of A = D + f v^T - u g^T: f = 4 s u - 2 D v with s = u^T D v, and
/// g = 2 D u.
Parts graded_parts(std::int64_t n, std::uint64_t seed) {
  const auto last = static_cast<double>(std::max<std::int64_t>(n - 1, 1));
  const auto at = [](const std::vector<double>& v, std::int64_t i) {
    return v[static_cast<std::size_t>(i)];
  };
  std::vector<double> d = sequence(n, [&](std::int64_t i) {
    return std::pow(10, smallest_singular_value_log10 * static_cast<double>(i) / last);
  });
  std::vector<double> u = unit_vector(seed, Stream::left, n);
  std::vector<double> v = unit_vector(seed, Stream::right, n);
  double s = 0;
  for (std::int64_t i = 0; i < n; ++i) s += at(u, i) * at(d, i) * at(v, i);
  std::vector<double> f =
      sequence(n, [&](std::int64_t i) { return 4 * s * at(u, i) - 2 * at(d, i) * at(v, i); });
  std::vector<double> g = sequence(n, [&](std::int64_t i) { return 2 * at(d, i) * at(u, i); });
  return {std::move(d), std::move(u), std::move(v), std::move(f), std::move(g)};
}

double squared(double x) {
  return x * x;
}

/// Both parts of a complex number: the same h and h' give two normal numbers.
std::complex<double> complex_normal(std::uint64_t seed, std::int64_t i, std::int64_t j) {
  return std::polar(std::sqrt(-2 * std::log(unit(seed, Stream::first, i, j))),
                    two_pi * unit(seed, Stream::second, i, j));
}

constexpr double points_a_wavelength = 10;

/// The points of a Fibonacci lattice on the unit sphere, and what the surroundings of each have of
/// the static potential of a uniform layer, which is 1: what the others leave of it.
Parts sphere_parts(std::int64_t n) {
  const auto count = static_cast<double>(n);
  const auto height = [=](std::int64_t i) { return 1 - (2 * static_cast<double>(i) + 1) / count; };
  const auto angle = [](std::int64_t i) {
    return std::numbers::pi * (1 + std::sqrt(5.0)) * static_cast<double>(i);
  };
  Parts parts{sequence(n,
                       [&](std::int64_t i) {
                         return std::sqrt(1 - squared(height(i))) * std::cos(angle(i));
                       }),
              sequence(n,
                       [&](std::int64_t i) {
                         return std::sqrt(1 - squared(height(i))) * std::sin(angle(i));
                       }),
              sequence(n, height), std::vector<double>(static_cast<std::size_t>(n), 1.0)};
  // Names, since a region of OpenMP cannot share those of a structured binding.
  const std::vector<double>&x = parts[0], &y = parts[1], &z = parts[2];
  std::vector<double>& own = parts[3];
#pragma omp parallel for schedule(static)
  for (std::size_t i = 0; i < own.size(); ++i)
    for (std::size_t j = 0; j < own.size(); ++j)
      if (i != j)
        own[i] -=
            1 /
            (count * std::sqrt(squared(x[i] - x[j]) + squared(y[i] - y[j]) + squared(z[i] - z[j])));
  return parts;
}

/// The side of the plate in cells: the first n of them, row by row, are there.
std::int64_t plate_side(std::int64_t n) {
  return static_cast<std::int64_t>(std::ceil(std::sqrt(static_cast<double>(n))));
}

/// The centres of the cells.
Parts plate_parts(std::int64_t n) {
  const std::int64_t side = plate_side(n);
  const auto at = [=](std::int64_t k) {
    return (static_cast<double>(k) + 0.5) / static_cast<double>(side);
  };
  return {sequence(n, [&](std::int64_t i) { return at(i % side); }),
          sequence(n, [&](std::int64_t i) { return at(i / side); })};
}

}  // namespace

std::string_view name(GalleryKind kind) {
  for (const auto& [value, words] : gallery_names)
    if (value == kind) return words;
  return "unknown";
}

Field field_of_kind(GalleryKind kind) {
  switch (kind) {
    case GalleryKind::complex_gaussian:
    case GalleryKind::complex_shifted:
    case GalleryKind::sphere:
    case GalleryKind::plate:
      return Field::complex;
    default:
      return Field::real;
  }
}

std::optional<GalleryKind> gallery_kind(std::string_view name) {
  for (const auto& [value, words] : gallery_names)
    if (words == name) return value;
  return std::nullopt;
}

namespace {

std::string list_of(bool complex_too) {
  std::string all;
  for (const auto& [value, words] : gallery_names)
    if (complex_too || field_of_kind(value) == Field::real)
      all.append(all.empty() ? "" : ", ").append(words);
  return all;
}

}  // namespace

std::string gallery_list() {
  return list_of(true);
}

std::string real_gallery_list() {
  return list_of(false);
}

GallerySystem::GallerySystem(GalleryKind kind, std::int64_t n, std::uint64_t seed)
    : kind_(kind), n_(n), seed_(seed) {
  SPEEDWELL_EXPECTS(n >= 1);
  switch (kind) {
    case GalleryKind::gaussian:
    case GalleryKind::uniform:
    case GalleryKind::complex_gaussian:
      break;
    case GalleryKind::complex_shifted:
      shift_ = 2 * std::sqrt(2 * static_cast<double>(n));
      break;
    case GalleryKind::sphere:  // each point has a square of the area, as wide as 1/10 wavelength
      wave_ =
          two_pi / (points_a_wavelength * std::sqrt(4 * std::numbers::pi / static_cast<double>(n)));
      parts_ = sphere_parts(n);
      break;
    case GalleryKind::plate:
      wave_ = two_pi / points_a_wavelength * static_cast<double>(plate_side(n));
      parts_ = plate_parts(n);
      break;
    case GalleryKind::large:
      scale_ = 0x1p20;
      [[fallthrough]];
    case GalleryKind::shifted:
      shift_ = 2 * std::sqrt(static_cast<double>(n));
      break;
    case GalleryKind::kernel:
      parts_ = kernel_parts(n, seed);
      break;
    case GalleryKind::boundary:
      parts_ = boundary_parts(n);
      break;
    case GalleryKind::toeplitz:
      parts_ = toeplitz_parts(n, seed);
      break;
    case GalleryKind::graded:
      parts_ = graded_parts(n, seed);
      break;
  }
}

double GallerySystem::operator()(std::int64_t i, std::int64_t j) const {
  SPEEDWELL_EXPECTS(field() == Field::real);
  const auto r = static_cast<std::size_t>(i);
  const auto c = static_cast<std::size_t>(j);
  switch (kind_) {
    case GalleryKind::gaussian:
    case GalleryKind::shifted:
    case GalleryKind::large:
      return scale_ * (normal(seed_, i, j) + (i == j ? shift_ : 0));
    case GalleryKind::uniform:
      return symmetric(seed_, Stream::first, i, j);
    case GalleryKind::kernel: {
      const auto& [x, y, z, none, nothing] = parts_;
      return std::exp(
          -std::sqrt(squared(x[r] - x[c]) + squared(y[r] - y[c]) + squared(z[r] - z[c])));
    }
    case GalleryKind::boundary: {
      const auto& [x, y, diagonal, none, nothing] = parts_;
      if (i == j) return diagonal[r];
      return -std::log(squared(x[r] - x[c]) + squared(y[r] - y[c])) / (2 * static_cast<double>(n_));
    }
    case GalleryKind::toeplitz:
      return parts_[0][static_cast<std::size_t>(i - j + n_ - 1)];
    case GalleryKind::graded: {
      const auto& [d, u, v, f, g] = parts_;
      return (i == j ? d[r] : 0) + f[r] * v[c] - u[r] * g[c];
    }
    default:
      break;
  }
  return unknown;
}

std::complex<double> GallerySystem::complex_entry(std::int64_t i, std::int64_t j) const {
  const auto r = static_cast<std::size_t>(i);
  const auto c = static_cast<std::size_t>(j);
  constexpr double four_pi = 2 * two_pi;
  switch (kind_) {
    case GalleryKind::complex_gaussian:
    case GalleryKind::complex_shifted:
      return complex_normal(seed_, i, j) + (i == j ? shift_ : 0);
    case GalleryKind::sphere: {
      const auto& [x, y, z, own, none] = parts_;
      const double weight = 1 / static_cast<double>(n_);  // area / (4 pi)
      if (i == j) return {own[r], wave_ * weight};
      const double distance =
          std::sqrt(squared(x[r] - x[c]) + squared(y[r] - y[c]) + squared(z[r] - z[c]));
      return std::polar(weight / distance, wave_ * distance);
    }
    case GalleryKind::plate: {
      const auto& [x, y, none, nothing, empty] = parts_;
      const double side = 1 / static_cast<double>(plate_side(n_));
      // The integral of 1/r over a square from its centre is 4 log(1 + sqrt(2)) side.
      if (i == j)
        return {4 * std::log(1 + std::numbers::sqrt2) * side / four_pi,
                wave_ * side * side / four_pi};
      const double distance = std::sqrt(squared(x[r] - x[c]) + squared(y[r] - y[c]));
      return std::polar(side * side / (four_pi * distance), wave_ * distance);
    }
    default:
      return (*this)(i, j);
  }
}

double GallerySystem::bound() const {
  constexpr double most_normal = 8.7;  // sqrt(-2 log(2^-54)), by the smallest number of unit()
  switch (kind_) {
    case GalleryKind::gaussian:
    case GalleryKind::shifted:
    case GalleryKind::large:
      return scale_ * (most_normal + shift_);
    case GalleryKind::uniform:
    case GalleryKind::kernel:
    case GalleryKind::toeplitz:
      return 1;
    case GalleryKind::boundary:
      return 2;  // |log of a distance| / n, with distances between 1 / n and 2
    case GalleryKind::complex_gaussian:
    case GalleryKind::complex_shifted:
      return most_normal + shift_;
    case GalleryKind::sphere:
    case GalleryKind::plate:
      return 2;  // of order 1 above 1, by the wavenumber
    case GalleryKind::graded:
      return 9;  // |d| + |f| |v| + |u| |g|, where |d|, |u| and |v| are at most 1
  }
  return unknown;
}

double GallerySystem::right_hand_side(std::int64_t i, std::int64_t k) const {
  return symmetric(seed_, Stream::b, i, k);
}

std::vector<double> GallerySystem::right_hand_sides(std::int64_t count) const {
  const std::int64_t rows = numbers();
  std::vector<double> b(static_cast<std::size_t>(rows * count));
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < rows; ++i)
      b[static_cast<std::size_t>(i + k * rows)] = right_hand_side(i, k);
  return b;
}

void GallerySystem::fill(MatrixView<double> a, std::int64_t first) const {
  const bool is_complex = field() == Field::complex;
  const std::int64_t rows = a.rows / parts_of(field());
  SPEEDWELL_EXPECTS(a.columns == n_ && first >= 0 && first + rows <= n_);
#pragma omp parallel for schedule(static)
  for (std::int64_t j = 0; j < n_; ++j)
    for (std::int64_t i = 0; i < rows; ++i)
      if (is_complex) {
        const std::complex<double> value = complex_entry(first + i, j);
        a(2 * i, j) = value.real();
        a(2 * i + 1, j) = value.imag();
      } else {
        a(i, j) = (*this)(first + i, j);
      }
}

}  // namespace speedwell
