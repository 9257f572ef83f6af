// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How loops over a matrix are divided among threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/numbers.hpp"

namespace speedwell {

/// Rows of a strip: a multiple of every vector length and cache line.
constexpr std::int64_t strip = 256;

/// Whether a loop over this many elements is faster with several threads.
constexpr bool worth_threads(std::int64_t elements) {
  return elements >= 8192;
}

/// Divides `size` rows or columns into one part for each thread, and calls work(begin, count) for
/// each part. Parts are as long as possible, since the prefetcher needs long pieces of columns.
template <class Work>
void in_parts(std::int64_t size, int threads, const Work& work) {
  constexpr std::int64_t unit = 16;
  if (size == 0) return;
  if (threads == 1) return work(std::int64_t{0}, size);  // no region that a small system waits for
  const std::int64_t part = round_up(ceil_div(size, threads), unit);
#pragma omp parallel for schedule(static, 1)
  for (std::int64_t begin = 0; begin < size; begin += part)
    work(begin, std::min(part, size - begin));
}

}  // namespace speedwell
