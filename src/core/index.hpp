// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Global and local indices as different types, so that the compiler finds where they are mixed up.
#pragma once

#include <compare>
#include <cstdint>

namespace speedwell {

template <class Tag>
struct Index {
  std::int64_t value = 0;

  friend constexpr auto operator<=>(Index, Index) = default;
  friend constexpr Index operator+(Index i, std::int64_t d) { return {i.value + d}; }
  friend constexpr Index operator-(Index i, std::int64_t d) { return {i.value - d}; }
  friend constexpr std::int64_t operator-(Index i, Index j) { return i.value - j.value; }
  constexpr Index& operator++() { return ++value, *this; }
};

/// A row or column of the whole matrix, 0-based.
using GlobalIndex = Index<struct GlobalTag>;
/// A row or column of one rank's part of the matrix, 0-based.
using LocalIndex = Index<struct LocalTag>;

}  // namespace speedwell
