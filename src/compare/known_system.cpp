// SPDX-License-Identifier: BSD-3-Clause
#include "compare/known_system.hpp"

#include <algorithm>
#include <cmath>

namespace speedwell {

namespace {

/// A power of two, 2^-52 times which is at least `largest`.
double quantum_for(double largest) {
  int exponent = 0;
  std::frexp(largest, &exponent);
  return std::ldexp(1.0, exponent - 52);
}

}  // namespace

KnownSystem::KnownSystem(GalleryKind kind, std::int64_t n, std::uint64_t seed)
    : gallery_(kind, n, seed),
      seed_(seed),
      quantum_(quantum_for(static_cast<double>(numbers()) * gallery_.bound())) {}

double KnownSystem::rounded(double entry) const {
  return std::nearbyint(entry / quantum_) * quantum_;
}

void KnownSystem::fill(MatrixView<double> a, std::int64_t first) const {
  gallery_.fill(a, first);
#pragma omp parallel for schedule(static)
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) = rounded(a(i, j));
}

std::vector<double> KnownSystem::solution() const {
  std::vector<double> all(static_cast<std::size_t>(numbers()));
  for (std::int64_t j = 0; j < numbers(); ++j) all[static_cast<std::size_t>(j)] = x(j);
  return all;
}

// All sums are exact, so they need no care. A is made in strips of rows.
std::vector<double> KnownSystem::right_hand_side() const {
  constexpr std::int64_t most_rows = 256;
  const std::int64_t parts = parts_of(field());
  const std::int64_t height = std::min(n(), most_rows);
  std::vector<double> strip(static_cast<std::size_t>(parts * height * n()));
  std::vector<double> b(static_cast<std::size_t>(numbers()));
  for (std::int64_t row = 0; row < n(); row += height) {
    const MatrixView<double> a{strip.data(), parts * std::min(height, n() - row), n(),
                               parts * height};
    fill(a, row);
    double* const sums = b.data() + parts * row;
    for (std::int64_t j = 0; j < n(); ++j)
      for (std::int64_t i = 0; i < a.rows; i += parts)
        if (parts == 1) {
          sums[i] += a(i, j) * x(j);
        } else {
          sums[i] += a(i, j) * x(2 * j) - a(i + 1, j) * x(2 * j + 1);
          sums[i + 1] += a(i, j) * x(2 * j + 1) + a(i + 1, j) * x(2 * j);
        }
  }
  return b;
}

}  // namespace speedwell
