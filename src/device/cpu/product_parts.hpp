// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a product of matrices is divided, so that none of its parts takes long.
#pragma once

#include <algorithm>
#include <cstdint>

namespace speedwell {

/// The parts of an update's C that are products of their own.
struct UpdateParts {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The parts of a product of m x n elements, each a sum of k products. Where messages have to move
/// on or an interrupt is asked meanwhile (`polled`), a part is short enough (some 50 ms) that they
/// do not wait for long, and as tall as possible, since each product packs its part of U again;
/// otherwise it is the whole of C.
inline UpdateParts update_parts(std::int64_t m, std::int64_t n, std::int64_t k, int threads,
                                bool polled) {
  constexpr double operations_per_thread = 8e9;
  constexpr std::int64_t rows_per_thread = 16384;
  constexpr std::int64_t least_columns = 512;
  constexpr std::int64_t least_rows = 512;
  if (!polled) return {m, n};
  const double operations = operations_per_thread * threads;
  const auto so_many = [&](std::int64_t others) {
    const auto each = 2. * static_cast<double>(std::max<std::int64_t>(others, 1)) *
                      static_cast<double>(std::max<std::int64_t>(k, 1));
    return static_cast<std::int64_t>(operations / each);
  };
  const std::int64_t rows = rows_per_thread * threads;
  const std::int64_t columns = std::max(so_many(std::min(rows, m)), least_columns);
  // A few columns of long sums need parts of fewer rows.
  return {std::clamp(2 * so_many(std::min(columns, n)), least_rows, rows), columns};
}

}  // namespace speedwell
