// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checksums of a matrix in memory, in which every number counts by its place: docs/numerics.md,
/// section 5.3.
#pragma once

#include <cstdint>

#include "element/element.hpp"

namespace speedwell {

/// The summand of a number with these bits in a place with this key: the product of the two halves,
/// each added to the key's modulo 2^32 (the function NH: J. Black, S. Halevi, H. Krawczyk,
/// T. Krovetz, P. Rogaway, "UMAC: Fast and Secure Message Authentication", CRYPTO 1999).
SPEEDWELL_ELEMENT std::uint64_t keyed_bits(std::uint64_t bits, std::uint64_t key) {
  const auto low = static_cast<std::uint32_t>(bits + key);
  const auto high = static_cast<std::uint32_t>((bits >> 32) + (key >> 32));
  return std::uint64_t{low} * high;
}

/// The keys of a matrix's rows, and the factors by which its columns' sums are added to one.
struct PlaceKeys {
  const std::uint64_t* rows = nullptr;
  const std::uint64_t* columns = nullptr;

  /// Those of the matrix that begins in this row and column.
  SPEEDWELL_ELEMENT PlaceKeys from(std::int64_t row, std::int64_t column) const {
    return {rows + row, columns ? columns + column : columns};
  }
};

/// The checksum of a whole matrix. Modulo 2^64.
struct MatrixChecksum {
  std::uint64_t bits;    ///< the sum of all numbers' bits: each change of one number changes it
  std::uint64_t places;  ///< sum_j columns_j sum_i keyed_bits(a_ij, rows_i)

  friend constexpr bool operator==(const MatrixChecksum&, const MatrixChecksum&) = default;
};

}  // namespace speedwell
