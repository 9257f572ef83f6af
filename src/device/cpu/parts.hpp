// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How loops over a matrix are divided among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/numbers.hpp"

namespace lupine {

/// Rows of a strip: a multiple of every vector length and cache line.
constexpr std::int64_t strip = 256;

/// Divides `size` rows or columns into one part for each thread, and calls work(begin, count) for
/// each part. Parts are as long as possible, since the prefetcher needs long pieces of columns.
template <class Work>
void in_parts(std::int64_t size, int threads, const Work& work) {
  constexpr std::int64_t unit = 16;
  if (size == 0) return;
  const std::int64_t part = round_up(ceil_div(size, threads), unit);
#pragma omp parallel for schedule(static, 1)
  for (std::int64_t begin = 0; begin < size; begin += part)
    work(begin, std::min(part, size - begin));
}

/// The parts of an update's C that are products of their own.
struct UpdateParts {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// The parts of an update of m x n elements from panels of k columns. Where messages have to move
/// on meanwhile (`polled`), a part is short enough (some 50 ms) that they do not wait for long, and
/// as tall as possible, since each product packs its part of U again; otherwise it is the whole of
/// C.
inline UpdateParts update_parts(std::int64_t m, std::int64_t n, std::int64_t k, int threads,
                                bool polled) {
  constexpr double operations_per_thread = 8e9;
  constexpr std::int64_t rows_per_thread = 16384;
  constexpr std::int64_t least_columns = 512;
  if (!polled) return {m, n};
  const std::int64_t rows = rows_per_thread * threads;
  const auto columns = static_cast<std::int64_t>(
      operations_per_thread * threads /
      (2. * static_cast<double>(std::min(rows, m)) * static_cast<double>(k)));
  return {rows, std::max(columns, least_columns)};
}

}  // namespace lupine
