// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The checksums of columns, in the passes over a matrix that take them (element/checksum.hpp), by
/// the instructions of the set for which a source is compiled.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "cpu/instructions.hpp"
#include "cpu/loops.hpp"

namespace speedwell::SPEEDWELL_ISA {

constexpr int words = vector_bytes / 8;
using HalfWords = std::uint32_t __attribute__((vector_size(vector_bytes)));

SPEEDWELL_ELEMENT std::uint64_t sum_of_words(Words v) {
  std::uint64_t sum = 0;
  for (int k = 0; k < words; ++k) sum += v[k];
  return sum;
}

/// Rows that a pass takes before it adds them to the checksums. They are in the first-level cache
/// then, and there is other work while the next ones come.
constexpr std::int64_t checksum_rows = 64;

/// keyed_bits() of some numbers, and their bits.
SPEEDWELL_ELEMENT void add_words(Words numbers, Words keys, Words& bits, Words& places) {
  bits += numbers;
  places += product_of_halves((Words)((HalfWords)numbers + (HalfWords)keys));
}

/// Adds a part of a column to its checksum.
SPEEDWELL_ELEMENT void add_checksum(const double* column, const std::uint64_t* keys,
                                    std::int64_t rows, Words& bits, Words& places) {
  Words sum = bits;
  Words of_places[2] = {places, Words{}};
  std::int64_t i = 0;
  for (; i + 2 * words <= rows; i += 2 * words) {
    // The next block of this column comes meanwhile: on one core of an EPYC a pass takes 15 %
    // longer than without a checksum, not 20.
    for (int k = 0; k < 2 * words; k += 8) __builtin_prefetch(column + i + k + checksum_rows);
    for (int k = 0; k < 2; ++k)
      add_words(load_lanes<Words>(column + i + k * words), load_lanes<Words>(keys + i + k * words),
                sum, of_places[k]);
  }
  for (; i < rows; i += words) {
    Words numbers{};
    Words of_rows{};
    const auto bytes = static_cast<std::size_t>(rows - i < words ? rows - i : words) * 8;
    std::memcpy(&numbers, column + i, bytes);
    std::memcpy(&of_rows, keys + i, bytes);
    add_words(numbers, of_rows, sum, of_places[0]);  // a place without a number has the key 0
  }
  bits = sum;
  places = of_places[0] + of_places[1];
}

/// Calls work(i, count) for blocks of rows, and adds each block of the columns to their checksums.
template <bool with_checksum, int columns, class T, class Work>
SPEEDWELL_ELEMENT void in_blocks(MatrixView<const T> a, const std::uint64_t* row_keys, Words& bits,
                                 Words (&places)[columns], const Work& work) {
  if constexpr (with_checksum) {
    for (std::int64_t i = 0; i < a.rows; i += checksum_rows) {
      const std::int64_t count = a.rows - i < checksum_rows ? a.rows - i : checksum_rows;
      work(i, count);
      for (int c = 0; c < columns; ++c)
        add_checksum(a.column(c) + i, row_keys + i, count, bits, places[c]);
    }
  } else {
    work(std::int64_t{0}, a.rows);
  }
}

/// Adds the sums of columns from j on to the checksum of the matrix.
template <int columns>
SPEEDWELL_ELEMENT void add_to_whole(const RowSums& sums, std::int64_t j, Words bits,
                                    const Words (&places)[columns]) {
  sums.checksum->bits += sum_of_words(bits);
  for (int c = 0; c < columns; ++c)
    sums.checksum->places += sums.keys.columns[j + c] * sum_of_words(places[c]);
}

/// Adds the sums of columns from j on to theirs.
template <int columns>
SPEEDWELL_ELEMENT void add_to_columns(const ColumnChecksums& to, std::int64_t j, Words bits,
                                      const Words (&places)[columns]) {
  __atomic_fetch_add(to.bits, sum_of_words(bits), __ATOMIC_RELAXED);
  for (int c = 0; c < columns; ++c)
    __atomic_fetch_add(to.places + j + c, sum_of_words(places[c]), __ATOMIC_RELAXED);
}

}  // namespace speedwell::SPEEDWELL_ISA
