// SPDX-License-Identifier: BSD-3-Clause
#include "device/checksum_keys.hpp"

#include <algorithm>

#include "core/random.hpp"
#include "cpu/vector_loops.hpp"
#include "host/process_seed.hpp"

namespace speedwell {

namespace {

std::vector<std::uint64_t> sequence(std::uint64_t which, std::int64_t count) {
  const std::uint64_t state = mixed_bits(mixed_bits(process_seed()) + which);
  std::vector<std::uint64_t> numbers(static_cast<std::size_t>(std::max<std::int64_t>(count, 0)));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = random_bits(state, i);
  return numbers;
}

}  // namespace

KeysOfPlaces::KeysOfPlaces(std::int64_t row_count, std::int64_t column_count)
    : rows(sequence(1, row_count)), columns(sequence(2, column_count)) {}

MatrixChecksum checksum_of(std::span<const double> vector) {
  thread_local std::vector<std::uint64_t> keys;  // vectors are many, and their keys the same
  if (keys.size() < vector.size()) keys = KeysOfPlaces(std::ssize(vector), 0).rows;
  MatrixChecksum sums{};
  const auto n = std::ssize(vector);
  vector_loops().checksums_of_columns({vector.data(), n, 1, std::max<std::int64_t>(n, 1)},
                                      {keys.data(), &sums.bits, &sums.places});
  return sums;
}

std::uint64_t checksum_of(std::span<const int> exponents) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < exponents.size(); ++i)
    sum += mixed_bits(std::uint64_t{i} << 32 | static_cast<std::uint32_t>(exponents[i]));
  return sum;
}

}  // namespace speedwell
