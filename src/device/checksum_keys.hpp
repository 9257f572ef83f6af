// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The random numbers by which places count in checksums: docs/numerics.md, section 5.3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "element/checksum.hpp"

namespace speedwell {

/// PlaceKeys of so many rows and columns, equal in every call of a process. They follow from
/// process_seed(): nobody knows them before it runs, whatever A is.
struct KeysOfPlaces {
  std::vector<std::uint64_t> rows;
  std::vector<std::uint64_t> columns;

  KeysOfPlaces(std::int64_t row_count, std::int64_t column_count);
  PlaceKeys keys() const { return {rows.data(), columns.data()}; }
};

/// The checksum of a vector in host memory; of a matrix with one column, whose factor is 1.
MatrixChecksum checksum_of(std::span<const double> vector);
/// A checksum of exponents: each change of one changes it.
std::uint64_t checksum_of(std::span<const int> exponents);

}  // namespace speedwell
