// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reductions over whole columns by one block of threads. Their order depends only on sizes, so
/// that sums are reproducible.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "element/element.hpp"

namespace speedwell::cuda {

constexpr int warp_threads = 32;
constexpr unsigned whole_warp = 0xffffffffu;

/// Threads of a block that reads columns: neighbouring threads read neighbouring rows.
constexpr int column_threads = 256;

/// Joins the values of a warp's threads. The first thread gets the result.
template <class T, class Join>
__device__ T join_warp(T value, const Join& join) {
  for (int lanes = warp_threads / 2; lanes > 0; lanes /= 2)
    value = join(value, __shfl_down_sync(whole_warp, value, static_cast<unsigned>(lanes)));
  return value;
}

/// Joins own[c] of all threads of a block, for each c. Thread c gets that result.
/// @pre blockDim.x is column_threads
template <int count, class T, class Join>
__device__ T join_block(const T (&own)[count], const Join& join) {
  SPEEDWELL_ELEMENT_EXPECTS(blockDim.x == column_threads);
  constexpr int warps = column_threads / warp_threads;
  __shared__ T of_warps[warps][count];
  const int thread = static_cast<int>(threadIdx.x);
#pragma unroll
  for (int c = 0; c < count; ++c) {
    const T joined = join_warp(own[c], join);
    if (thread % warp_threads == 0) of_warps[thread / warp_threads][c] = joined;
  }
  __syncthreads();
  if (thread >= count) return {};
  T result = of_warps[0][thread];
  for (int w = 1; w < warps; ++w) result = join(result, of_warps[w][thread]);
  return result;
}

}  // namespace speedwell::cuda
