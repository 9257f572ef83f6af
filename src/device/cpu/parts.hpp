// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How loops over a matrix are cut for threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include "core/numbers.hpp"

namespace lupine {

/// Rows of a strip: a multiple of every vector length and cache line.
constexpr std::int64_t strip = 256;

/// work(begin, count) on every thread, for its part of `size` rows or columns. One long piece each:
/// short ones would cut the columns below what prefetching needs.
template <class Work>
void in_parts(std::int64_t size, int threads, const Work& work) {
  constexpr std::int64_t unit = 16;
  if (size == 0) return;
  const std::int64_t part = round_up(ceil_div(size, threads), unit);
#pragma omp parallel for schedule(static, 1)
  for (std::int64_t begin = 0; begin < size; begin += part)
    work(begin, std::min(part, size - begin));
}

}  // namespace lupine
