// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The largest magnitude of a matrix, as bits: those of FP32 magnitudes are ordered as the
/// magnitudes are, and those of an Inf or NaN are the largest.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/columns.hpp"
#include "cuda/launch.hpp"
#include "element/rounding.hpp"

namespace speedwell::cuda {

SPEEDWELL_ELEMENT std::uint32_t magnitude_bits(float value) {
  return bits_of(value) & 0x7fffffffu;
}
SPEEDWELL_ELEMENT std::uint32_t larger_bits(std::uint32_t x, std::uint32_t y) {
  return x > y ? x : y;
}

/// *bits <- max(*bits, the largest `mine` of the block). All threads of the block call it, once;
/// the block has matrix_threads of them.
__device__ inline void join_largest(std::uint32_t mine, std::uint32_t* bits) {
  static_assert(matrix_threads == column_threads);
  SPEEDWELL_ELEMENT_EXPECTS(blockDim.x == matrix_threads);
  const auto largest = join_block<1>({mine}, [](auto x, auto y) { return larger_bits(x, y); });
  if (threadIdx.x == 0) atomicMax(bits, largest);
}

}  // namespace speedwell::cuda
