// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Matrices that need every kind of row exchange, and options to factor them with pivoting.
#pragma once

#include <cmath>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "pipeline.hpp"

namespace speedwell::test {

/// A matrix by its entries.
struct Entries {
  std::string name;
  std::function<double(std::int64_t i, std::int64_t j)> at;
};

/// Matrices of order n that need many row exchanges. Their rows are distributed in blocks of nb
/// over `ranks` process rows.
inline std::vector<Entries> swap_heavy(std::int64_t n, std::int64_t nb, int ranks) {
  MatrixSpec random;
  random.kind = MatrixKind::hpl;
  random.n = n;
  random.stride = n + 1;
  const auto u = [random](std::int64_t i, std::int64_t j) { return random.entry(i, j); };
  const auto tie = [n](std::int64_t i, std::int64_t j) {
    return i == j || j == n - 1 ? 1.0 : i > j && n < 60 ? -1.0 : 0.0;
  };
  const auto owner = [nb, ranks](std::int64_t i) { return (i / nb) % ranks; };
  return {
      {"random", u},
      // In every column all rows below the diagonal tie with it; powers of two keep this exact. In
      // the second matrix the candidates lie on other ranks.
      {"ties", tie},
      {"ties below", [tie, nb](auto i, auto j) { return tie(i, j) / (i < nb ? 4 : 1); }},
      {"reverse identity", [n](auto i, auto j) { return i + j == n - 1 ? 1.0 : 0.0; }},
      {"in order", [u, n](auto i, auto j) { return u(i, j) + (i == j ? 2.0 * double(n) : 0); }},
      {"rotated", [u, n](auto i, auto j) { return u(i, j) + (i == (j + 1) % n ? double(n) : 0); }},
      {"pivots on the last rank",
       [u, owner, ranks](auto i, auto j) { return u(i, j) * (owner(i) == ranks - 1 ? 64 : 1); }},
      {"rows growing downwards",
       [u](auto i, auto j) { return u(i, j) * std::exp2(double(i % 40)); }},
  };
}

/// Stores the matrix on the grid, and returns all of it with the rounding of the storage.
inline Square fill(Problem& p, const Entries& entries) {
  const std::int64_t n = p.a.rows().size();
  Square all(n);
  const auto put = [&](auto copy) {
    using T = std::remove_reference_t<decltype(copy.view()(0, 0))>;
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < n; ++i) {
        const T value = static_cast<T>(entries.at(i, j));
        all(i, j) = static_cast<double>(value);
        if (T* entry = copy.find({i}, {j})) *entry = value;
      }
    copy.store();
  };
  if (p.a.storage() == Precision::fp64)
    put(HostCopyOf<double>(*p.device, p.a));
  else
    put(HostCopyOf<float>(*p.device, p.a));
  return all;
}

inline LuPlan pivoted(Precision precision, std::int64_t width) {
  return {.width = width, .precision = precision, .pivoting = Pivoting::partial, .leaf = 4};
}

}  // namespace speedwell::test
