// SPDX-License-Identifier: BSD-3-Clause
#include "generate/gallery.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"

namespace lupine {

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

}  // namespace

std::string_view name(GalleryKind kind) {
  for (const auto& [value, words] : gallery_names)
    if (value == kind) return words;
  return "unknown";
}

std::optional<GalleryKind> gallery_kind(std::string_view name) {
  for (const auto& [value, words] : gallery_names)
    if (words == name) return value;
  return std::nullopt;
}

std::string gallery_list() {
  std::string all;
  for (const auto& [value, words] : gallery_names)
    all.append(all.empty() ? "" : ", ").append(words);
  return all;
}

GallerySystem::GallerySystem(GalleryKind kind, std::int64_t n, std::uint64_t seed)
    : kind_(kind), n_(n), seed_(seed) {
  LUPINE_EXPECTS(n >= 1);
  switch (kind) {
    case GalleryKind::gaussian:
    case GalleryKind::uniform:
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
  }
  return unknown;
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
    case GalleryKind::graded:
      return 9;  // |d| + |f| |v| + |u| |g|, where |d|, |u| and |v| are at most 1
  }
  return unknown;
}

double GallerySystem::right_hand_side(std::int64_t i, std::int64_t k) const {
  return symmetric(seed_, Stream::b, i, k);
}

std::vector<double> GallerySystem::right_hand_sides(std::int64_t count) const {
  std::vector<double> b(static_cast<std::size_t>(n_ * count));
#pragma omp parallel for schedule(static)
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = 0; i < n_; ++i)
      b[static_cast<std::size_t>(i + k * n_)] = right_hand_side(i, k);
  return b;
}

void GallerySystem::fill(MatrixView<double> a, std::int64_t first) const {
  LUPINE_EXPECTS(a.columns == n_ && first >= 0 && first + a.rows <= n_);
#pragma omp parallel for schedule(static)
  for (std::int64_t j = 0; j < n_; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) = (*this)(first + i, j);
}

}  // namespace lupine
