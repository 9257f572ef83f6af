// SPDX-License-Identifier: BSD-3-Clause
// Users' FP64 matrices of many shapes and magnitudes, and their checksums by the definition.
#pragma once

#include "core/numbers.hpp"
#include "device/bench.hpp"
#include "device/checksum_keys.hpp"

namespace speedwell::test::user_matrix_tests {

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

inline const std::vector<Shape> shapes{
    {0, 0},   {0, 5},     {5, 0},     {1, 1},  {3, 3},     {63, 63}, {64, 64},  {65, 65},  {1, 700},
    {700, 1}, {257, 129}, {129, 257}, {8, 16}, {513, 515}, {33, 33}, {2, 3000}, {32771, 9}};

// A number of random sign with a magnitude from 1e-200 to 1e200.
inline double wide_entry(std::mt19937& random) {
  std::uniform_real_distribution<double> exponent(-200, 200);
  return (random() % 2 == 0 ? -1 : 1) * std::pow(10, exponent(random));
}

inline std::vector<double> wide_values(Bench& b, std::int64_t count) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = wide_entry(b.random);
  return values;
}

inline Doubles wide_matrix(Bench& b, std::int64_t m, std::int64_t n) {
  Doubles a(b, m, n);
  a.set([&](std::int64_t, std::int64_t) { return wide_entry(b.random); });
  return a;
}

inline std::uint64_t bits_at(const Plain& a, std::int64_t i, std::int64_t j) {
  return std::bit_cast<std::uint64_t>(a(i, j));
}

// The checksums of the columns, and behind them the sum of all bits.
inline std::vector<std::uint64_t> plain_checksums(const Plain& a) {
  std::vector<std::uint64_t> sums(static_cast<std::size_t>(a.columns) + 1, 0);
  const KeysOfPlaces places(a.rows, a.columns);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) {
      const std::uint64_t key = places.rows[static_cast<std::size_t>(i)];
      const std::uint64_t low = (bits_at(a, i, j) % (std::uint64_t{1} << 32) + key) & 0xffffffff;
      const std::uint64_t high = ((bits_at(a, i, j) >> 32) + (key >> 32)) & 0xffffffff;
      sums[static_cast<std::size_t>(j)] += low * high;
      sums.back() += bits_at(a, i, j);
    }
  return sums;
}

// That of the whole matrix.
inline MatrixChecksum plain_checksum(const Plain& a) {
  const std::vector<std::uint64_t> sums = plain_checksums(a);
  MatrixChecksum whole{sums.back(), 0};
  const KeysOfPlaces places(a.rows, a.columns);
  for (std::size_t j = 0; j < places.columns.size(); ++j)
    whole.places += places.columns[j] * sums[j];
  return whole;
}

// Room for whole numbers in device memory, which are no checksums at first.
class WholeNumbers {
 public:
  WholeNumbers(Bench& b, std::int64_t count)
      : b_(b),
        count_(static_cast<std::size_t>(count)),
        memory_(b.device->allocate(std::max<std::int64_t>(count, 1) * 8)) {
    b_.device->upload(*b_.queue, std::vector<std::uint64_t>(count_, nothing), data());
  }

  static constexpr std::uint64_t nothing = 0x5555555555555555;

  std::uint64_t* data() const { return memory_.as<std::uint64_t>(); }
  MatrixChecksum* as_whole() const { return memory_.as<MatrixChecksum>(); }
  std::vector<std::uint64_t> get() const {
    std::vector<std::uint64_t> all(count_);
    b_.device->download(*b_.queue, data(), all);
    return all;
  }

 private:
  Bench& b_;
  std::size_t count_;
  Buffer memory_;
};

}  // namespace speedwell::test::user_matrix_tests
