// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which arrays of a caller can exist.
#pragma once

#include <cstdint>
#include <limits>

namespace speedwell {

/// Whether 63 bits count the bytes of an array of `columns` columns, each `ld` elements behind the
/// one before it. A caller's sizes are multiplied only where they do.
/// @param ld 0 or more
/// @param bytes of an element
constexpr bool is_countable(std::int64_t ld, std::int64_t columns, std::int64_t bytes) {
  return columns <= 0 || ld <= std::numeric_limits<std::int64_t>::max() / bytes / columns;
}

}  // namespace speedwell
