// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Candidates for the pivot of a column, and the best of them.
#pragma once

#include <cstdint>

#include "cuda/complex.hpp"

namespace speedwell::cuda {

constexpr double largest_finite = 0x1.fffffffffffffp+1023;
constexpr double infinity = __builtin_huge_val();
constexpr int warp_lanes = 32;
constexpr unsigned all_lanes = 0xffffffffu;

/// A row and the magnitude of its entry; {-1, -1} stands for no row.
struct Candidate {
  double magnitude;
  std::int64_t row;
};

/// @return a magnitude of infinity for an Inf or NaN
template <class T>
__device__ Candidate candidate(T value, std::int64_t row) {
  Candidate found{static_cast<double>(pivot_magnitude(value)), row};
  if (!(found.magnitude <= largest_finite)) found.magnitude = infinity;
  return found;
}

/// The candidate of the larger magnitude, or the first row where magnitudes are equal. So the best
/// of many does not depend on the order of comparisons.
__device__ inline bool is_better(const Candidate& b, const Candidate& a) {
  return b.magnitude > a.magnitude || (b.magnitude == a.magnitude && b.row < a.row);
}
__device__ inline Candidate better(const Candidate& a, const Candidate& b) {
  return is_better(b, a) ? b : a;
}

/// The best candidate of a warp; lane 0 gets it.
__device__ inline Candidate best_of_warp(Candidate mine) {
  for (unsigned half = warp_lanes / 2; half > 0; half /= 2)
    mine = better(mine, {__shfl_down_sync(all_lanes, mine.magnitude, half),
                         __shfl_down_sync(all_lanes, mine.row, half)});
  return mine;
}

}  // namespace speedwell::cuda
