// SPDX-License-Identifier: BSD-3-Clause
#include "compare/known_system.hpp"

#include <fmt/format.h>

#include <cmath>

namespace lupine {

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
      quantum_(quantum_for(static_cast<double>(n) * gallery_.bound())) {}

std::string KnownSystem::description() const {
  return fmt::format("generated, of order {}", n());
}

double KnownSystem::operator()(std::int64_t i, std::int64_t j) const {
  return std::nearbyint(gallery_(i, j) / quantum_) * quantum_;
}

void KnownSystem::fill(const ProcessGrid&, const Distribution& rows, const Distribution& columns,
                       PartWriter& a) const {
  a.by_columns([&](std::int64_t first, MatrixView<double> to) {
#pragma omp parallel for schedule(static)
    for (std::int64_t j = 0; j < to.columns; ++j) {
      const GlobalIndex column = columns.global(LocalIndex{first + j});
      for (std::int64_t i = 0; i < to.rows; ++i)
        to(i, j) = (*this)(rows.global(LocalIndex{i}).value, column.value);
    }
  });
}

}  // namespace lupine
