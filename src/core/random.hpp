// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Random numbers as hashes of their places, equal on every rank and grid.
#pragma once

#include <cstdint>
#include <type_traits>

namespace speedwell {

/// SplitMix64's output function, a bijection of 64 bits (G. L. Steele, D. Lea, C. H. Flood, "Fast
/// splittable pseudorandom number generators", OOPSLA 2014).
constexpr std::uint64_t mixed_bits(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

/// Number `count`, from 0, of SplitMix64's sequence that begins with `state`.
constexpr std::uint64_t random_bits(std::uint64_t state, std::uint64_t count) {
  return mixed_bits(state + (count + 1) * 0x9e3779b97f4a7c15);
}

/// What a matrix is judged with. Each has a sequence of its own.
enum class ProbeUse : std::uint64_t { quick, inverse, norm, sketch, rotations, sample };

/// Random bits as a number, uniform in [-1, 1).
constexpr double symmetric_number(std::uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-52 - 1;
}

/// The random numbers with which a matrix is judged, each by its place. They follow from the seed,
/// which is not known to whoever makes the matrix (host/process_seed.hpp): a matrix that knows the
/// vectors that probe it can hide from them whatever is wrong with it. The sequences are none of
/// those of which Speedwell makes matrices: a probe that is a column of the matrix shows nothing of
/// its inverse.
class Probes {
 public:
  constexpr Probes(std::uint64_t seed, ProbeUse use)
      : state_(
            mixed_bits(seed ^ mixed_bits(0x6a09e667f3bcc909 + static_cast<std::uint64_t>(use)))) {}

  constexpr std::uint64_t bits(std::uint64_t place) const { return random_bits(state_, place); }

  /// Real, uniform in [-1, 1), or complex of two such numbers.
  template <class T = double>
  constexpr T number(std::uint64_t place) const {
    if constexpr (std::is_floating_point_v<T>)
      return symmetric_number(bits(place));
    else
      return {number(2 * place), number(2 * place + 1)};
  }

 private:
  std::uint64_t state_;
};

}  // namespace speedwell
