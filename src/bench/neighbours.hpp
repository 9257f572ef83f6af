// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The series of values along which searches for the fastest configuration go.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace speedwell {

/// 32, 64, 96, 128, 192, 256, ... up to `most`: 32 and 96 times powers of two.
inline std::vector<std::int64_t> block_sizes(std::int64_t most) {
  std::vector<std::int64_t> all;
  for (std::int64_t power = 32; power <= most; power *= 2) {
    all.push_back(power);
    if (power > 32 && power + power / 2 <= most) all.push_back(power + power / 2);
  }
  return all;
}

/// 256, 512, ... below `columns`, and then `whole`, which stands for all columns.
inline std::vector<std::int64_t> chunk_sizes(std::int64_t columns, std::int64_t whole) {
  std::vector<std::int64_t> all;
  for (std::int64_t chunk = 256; chunk < columns; chunk *= 2) all.push_back(chunk);
  all.push_back(whole);
  return all;
}

/// Up to `below` values before the place of `center` in an ascending series, and up to `above`
/// behind it; ascending, without `center`.
template <class T>
std::vector<T> neighbours(const std::vector<T>& series, T center, std::ptrdiff_t below,
                          std::ptrdiff_t above) {
  const auto [first, last] = std::equal_range(series.begin(), series.end(), center);
  std::vector<T> all(first - std::min(below, first - series.begin()), first);
  all.insert(all.end(), last, last + std::min(above, series.end() - last));
  return all;
}

}  // namespace speedwell
