// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The largest magnitude of a matrix, as bits: those of FP32 magnitudes are ordered as the
/// magnitudes are, and those of an Inf or NaN are the largest.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "cuda/launch.hpp"
#include "element/rounding.hpp"

namespace lupine::cuda {

LUPINE_ELEMENT std::uint32_t magnitude_bits(float value) {
  return bits_of(value) & 0x7fffffffu;
}
LUPINE_ELEMENT std::uint32_t larger_bits(std::uint32_t x, std::uint32_t y) {
  return x > y ? x : y;
}

/// *bits <- max(*bits, the largest `mine` of the block). All threads of the block call it, once.
/// @pre blockDim.x is matrix_threads
__device__ inline void join_largest(std::uint32_t mine, std::uint32_t* bits) {
  LUPINE_ELEMENT_EXPECTS(blockDim.x == matrix_threads);
  __shared__ std::uint32_t most[matrix_threads];
  most[threadIdx.x] = mine;
  for (unsigned half = matrix_threads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half)
      most[threadIdx.x] = larger_bits(most[threadIdx.x], most[threadIdx.x + half]);
  }
  if (threadIdx.x == 0) atomicMax(bits, most[0]);
}

}  // namespace lupine::cuda
