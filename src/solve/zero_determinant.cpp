// SPDX-License-Identifier: BSD-3-Clause
#include "solve/zero_determinant.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <random>

#include "core/expects.hpp"
#include "core/random.hpp"

namespace speedwell {

namespace {

__extension__ using Wide = unsigned __int128;

// Of the last bit of a subnormal number, and of the largest one.
constexpr int least_exponent = -1074;
constexpr int most_exponent = 971;

std::uint64_t product(std::uint64_t a, std::uint64_t b, std::uint64_t modulus) {
  return static_cast<std::uint64_t>(Wide{a} * b % modulus);
}

std::uint64_t power_of(std::uint64_t a, std::uint64_t exponent, std::uint64_t modulus) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent % 2 != 0) result = product(result, a, modulus);
    a = product(a, a, modulus);
  }
  return result;
}

// Miller's and Rabin's test, with bases that decide for all numbers of 64 bits (J. Sorenson, J.
// Webster, "Strong pseudoprimes to twelve prime bases", Math. Comp. 86, 2017).
bool is_prime(std::uint64_t p) {
  constexpr std::array<std::uint64_t, 12> bases{2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37};
  if (std::ranges::any_of(bases, [&](std::uint64_t base) { return p % base == 0; })) return false;
  std::uint64_t odd = p - 1;
  int twos = 0;
  for (; odd % 2 == 0; odd /= 2) ++twos;
  return std::ranges::all_of(bases, [&](std::uint64_t base) {
    std::uint64_t x = power_of(base, odd, p);
    if (x == 1) return true;
    for (int k = 0; k < twos; ++k) {
      if (x == p - 1) return true;
      x = product(x, x, p);
    }
    return false;
  });
}

}  // namespace

ZeroTest::ZeroTest() {
  std::random_device device;
  const Word state = (Word{device()} << 32) + device();
  constexpr Word lowest = Word{1} << 61;
  for (Word drawn = 0; p_ == 0; ++drawn) {
    const Word candidate = lowest + (random_bits(state, drawn) >> 3) / 4 * 4 + 1;
    if (is_prime(candidate)) p_ = candidate;
  }
  Word inverse = p_;  // modulo 8; each step doubles the bits
  for (int bits = 3; bits < 64; bits *= 2) inverse *= 2 - p_ * inverse;
  inverse_ = -inverse;
  one_ = static_cast<Word>((Wide{1} << 64) % p_);
  two_.resize(most_exponent - least_exponent + 1);
  Word power_of_two = one_;
  for (int e = 0; e >= least_exponent; --e) {
    two_[static_cast<std::size_t>(e - least_exponent)] = power_of_two;
    power_of_two = (power_of_two % 2 == 0 ? power_of_two : power_of_two + p_) / 2;
  }
  power_of_two = one_;
  for (int e = 0; e <= most_exponent; ++e) {
    two_[static_cast<std::size_t>(e - least_exponent)] = power_of_two;
    power_of_two = 2 * power_of_two % p_;
  }
  // The square root of -1 is a^((p - 1) / 4) where a is no square: half of all numbers.
  for (Word a = 2; times(i_, i_) != p_ - one_; ++a) i_ = power(product(a, one_, p_), (p_ - 1) / 4);
}

ZeroTest::Word ZeroTest::times(Word a, Word b) const {
  const Wide full = Wide{a} * b;
  const Word factor = static_cast<Word>(full) * inverse_;
  const auto reduced = static_cast<Word>((full + Wide{factor} * p_) >> 64);
  return reduced >= p_ ? reduced - p_ : reduced;
}

ZeroTest::Word ZeroTest::power(Word a, Word exponent) const {
  Word result = one_;
  for (; exponent != 0; exponent >>= 1) {
    if (exponent % 2 != 0) result = times(result, a);
    a = times(a, a);
  }
  return result;
}

ZeroTest::Word ZeroTest::of(double value) const {
  if (value == 0) return 0;
  constexpr int bits = std::numeric_limits<double>::digits;
  int exponent = 0;
  const double mantissa = std::frexp(std::fabs(value), &exponent);
  int lowest = exponent - bits;
  auto whole = static_cast<Word>(std::ldexp(mantissa, bits));
  if (lowest < least_exponent) {  // the last bits of a subnormal number are zeros
    whole >>= least_exponent - lowest;
    lowest = least_exponent;
  }
  const Word power_of_two = two_[static_cast<std::size_t>(lowest - least_exponent)];
  const Word found = product(whole, power_of_two, p_);
  return value < 0 && found != 0 ? p_ - found : found;
}

ZeroTest::Word ZeroTest::of(std::complex<double> value) const {
  const Word sum = of(value.real()) + times(of(value.imag()), i_);
  return sum >= p_ ? sum - p_ : sum;
}

bool ZeroTest::is_zero(MatrixView<const double> a) const {
  return is_singular(a);
}
bool ZeroTest::is_zero(MatrixView<const std::complex<double>> a) const {
  return is_singular(a);
}

template <class T>
bool ZeroTest::is_singular(MatrixView<const T> a) const {
  SPEEDWELL_EXPECTS(a.rows == a.columns);
  const auto n = static_cast<std::size_t>(a.rows);
  std::vector<Word> of_a(n * n);
  std::vector<Word*> columns(n);
  for (std::size_t j = 0; j < n; ++j) {
    columns[j] = of_a.data() + j * n;
    for (std::size_t i = 0; i < n; ++i)
      columns[j][i] = of(a(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)));
  }
  // Columns are eliminated by columns, row by row.
  for (std::size_t k = 0; k < n; ++k) {
    const auto pivot = std::find_if(columns.begin() + static_cast<std::ptrdiff_t>(k), columns.end(),
                                    [&](const Word* c) { return c[k] != 0; });
    if (pivot == columns.end()) return true;
    std::iter_swap(columns.begin() + static_cast<std::ptrdiff_t>(k), pivot);
    const Word* const from = columns[k];
    const Word inverse = power(from[k], p_ - 2);
    for (std::size_t j = k + 1; j < n; ++j) {
      Word* const to = columns[j];
      if (to[k] == 0) continue;
      const Word factor = p_ - times(to[k], inverse);
      for (std::size_t i = k + 1; i < n; ++i) {
        const Word sum = to[i] + times(factor, from[i]);
        to[i] = sum >= p_ ? sum - p_ : sum;
      }
    }
  }
  return false;
}

}  // namespace speedwell
