// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// FP32 tiles in shared memory: their products, their factors without pivoting, and the inverses of
/// these. A block of tile_threads threads works on one; all of them call each function.
#pragma once

#include "cuda/kernels.hpp"
#include "cuda/magnitude.hpp"

namespace speedwell::cuda {

/// Tiles have this order.
constexpr int order = static_cast<int>(tile_order);
/// Threads of a block that works on a tile.
constexpr int tile_threads = 256;
/// The distance of columns in shared memory, with which 16-byte accesses meet no bank twice.
constexpr int pitch = order + 4;
/// A thread has four neighbouring rows of every sixteenth column.
constexpr int side = 16;
constexpr int own = order / side;
static_assert(side * side == tile_threads && own == 4);
/// Columns that one warp eliminates in registers.
constexpr int strip = 8;

/// A tile in shared memory, by columns.
using Tile = float (*)[pitch];
using ConstTile = const float (*)[pitch];

/// Shared memory for two tiles.
struct TwoTiles {
  float4 memory[2 * order * pitch / 4];
  __device__ Tile x() { return reinterpret_cast<Tile>(memory); }
  __device__ Tile y() { return x() + order; }
};

/// The numbers of a tile that count; beside a triangle are zeros.
enum class Part { all, upper, unit_lower };

__device__ inline float kept(float value, Part part, int i, int j) {
  if (part == Part::all) return value;
  if (part == Part::upper) return i <= j ? value : 0.0f;
  return i > j ? value : i == j ? 1.0f : 0.0f;
}

/// Calls use(s, i, j) for a thread's numbers of a tile, s = 0, 1, 2 ...: neighbours have
/// neighbouring rows.
constexpr int tile_share = order * order / tile_threads;
template <class Use>
__device__ void for_each_number(const Use& use) {
#pragma unroll
  for (int s = 0; s < tile_share; ++s) {
    const int number = static_cast<int>(threadIdx.x) + s * tile_threads;
    use(s, number % order, number / order);
  }
}

/// A thread's numbers of a tile: of[c][r] in row own_row() + r, column own_column(c).
struct Own {
  float of[own][own];
};

__device__ inline int own_row() {
  return static_cast<int>(threadIdx.x) / side * own;
}
__device__ inline int own_column(int c) {
  return static_cast<int>(threadIdx.x) % side + side * c;
}

/// Calls use(c, r, row, column) for a thread's numbers of a tile.
template <class Use>
__device__ inline void for_each_own(const Use& use) {
#pragma unroll
  for (int c = 0; c < own; ++c)
#pragma unroll
    for (int r = 0; r < own; ++r) use(c, r, own_row() + r, own_column(c));
}

/// sums += X Y
__device__ inline void add_product(Own& sums, ConstTile x, ConstTile y) {
#pragma unroll 2
  for (int k = 0; k < order; k += own) {
    float4 left[own];
#pragma unroll
    for (int q = 0; q < own; ++q) left[q] = *reinterpret_cast<const float4*>(&x[k + q][own_row()]);
#pragma unroll
    for (int c = 0; c < own; ++c) {
      const float4 right = *reinterpret_cast<const float4*>(&y[own_column(c)][k]);
      const float factors[own] = {right.x, right.y, right.z, right.w};
#pragma unroll
      for (int q = 0; q < own; ++q) {
        sums.of[c][0] = fmaf(left[q].x, factors[q], sums.of[c][0]);
        sums.of[c][1] = fmaf(left[q].y, factors[q], sums.of[c][1]);
        sums.of[c][2] = fmaf(left[q].z, factors[q], sums.of[c][2]);
        sums.of[c][3] = fmaf(left[q].w, factors[q], sums.of[c][3]);
      }
    }
  }
}

__device__ inline bool usable(float pivot) {
  return pivot != 0 && magnitude_bits(pivot) < 0x7f800000u;
}

// The columns first ... first + strip - 1 of T <- those of L\U, by one warp: lane `lane` has the
// rows first + lane and first + lane + 32 in registers.
__device__ inline void eliminate_strip(Tile t, int first, int rows, std::int64_t begin,
                                       std::int64_t* bad_pivot) {
  const int lane = static_cast<int>(threadIdx.x);
  const int row = first + lane;
  const int lower_row = row + 32;
  float upper[strip];
  float lower[strip];
#pragma unroll
  for (int c = 0; c < strip; ++c) {
    upper[c] = row < order ? t[first + c][row] : 0;
    lower[c] = lower_row < order ? t[first + c][lower_row] : 0;
  }
#pragma unroll
  for (int k = 0; k < strip; ++k) {
    float u[strip];
#pragma unroll
    for (int c = k; c < strip; ++c) u[c] = __shfl_sync(0xffffffffu, upper[c], k);
    if (lane == 0 && first + k < rows && !usable(u[k]) && *bad_pivot < 0)
      *bad_pivot = begin + first + k;
    const float factor = lane > k ? upper[k] / u[k] : 0;
    const float lower_factor = lower[k] / u[k];
    if (lane > k) upper[k] = factor;
    lower[k] = lower_factor;
#pragma unroll
    for (int c = k + 1; c < strip; ++c) {
      upper[c] = fmaf(-factor, u[c], upper[c]);
      lower[c] = fmaf(-lower_factor, u[c], lower[c]);
    }
  }
#pragma unroll
  for (int c = 0; c < strip; ++c) {
    if (row < order) t[first + c][row] = upper[c];
    if (lower_row < order) t[first + c][lower_row] = lower[c];
  }
}

// The columns behind a strip: their rows of U, and the update of the rows below it. A thread has a
// quarter of the rows of a column, and computes the column's part of U itself.
__device__ inline void update_behind(Tile t, int first) {
  const int c = static_cast<int>(threadIdx.x) % order;
  const int quarter = static_cast<int>(threadIdx.x) / order;
  const int next = first + strip;
  float u[strip];
  if (c >= next) {
#pragma unroll
    for (int k = 0; k < strip; ++k) u[k] = t[c][first + k];
#pragma unroll
    for (int k = 0; k < strip; ++k)
#pragma unroll
      for (int i = k + 1; i < strip; ++i) u[i] = fmaf(-t[first + k][first + i], u[k], u[i]);
  }
  __syncthreads();  // all have read what quarter 0 writes
  if (c >= next) {
    if (quarter == 0) {
#pragma unroll
      for (int k = 0; k < strip; ++k) t[c][first + k] = u[k];
    }
#pragma unroll 1
    for (int i = next + 4 * quarter; i < order; i += tile_threads / order * 4) {
      float4 rest = *reinterpret_cast<float4*>(&t[c][i]);
#pragma unroll
      for (int k = 0; k < strip; ++k) {
        const float4 l = *reinterpret_cast<const float4*>(&t[first + k][i]);
        rest.x = fmaf(-l.x, u[k], rest.x);
        rest.y = fmaf(-l.y, u[k], rest.y);
        rest.z = fmaf(-l.z, u[k], rest.z);
        rest.w = fmaf(-l.w, u[k], rest.w);
      }
      *reinterpret_cast<float4*>(&t[c][i]) = rest;
    }
  }
  __syncthreads();
}

/// T <- L\U of T, of which `rows` rows belong to A.
__device__ inline void factor(Tile t, int rows, std::int64_t begin, std::int64_t* bad_pivot) {
#pragma unroll 1
  for (int first = 0; first < order; first += strip) {
    if (threadIdx.x < 32) eliminate_strip(t, first, rows, begin, bad_pivot);
    __syncthreads();
    update_behind(t, first);
  }
}

// The blocks of order `strip` on the diagonal: L\U <- L^-1\U^-1. A thread has a column of one.
__device__ inline void invert_strips(Tile x) {
  const int thread = static_cast<int>(threadIdx.x);
  const int corner = thread % order / strip * strip;
  const int c = thread % strip;
  const bool of_lower = thread < order;
  float z[strip] = {};
  if (of_lower) {
#pragma unroll
    for (int i = 0; i < strip; ++i) {
      float sum = 0;
#pragma unroll
      for (int k = 0; k < i; ++k) sum = fmaf(x[corner + k][corner + i], z[k], sum);
      z[i] = i < c ? 0.0f : i == c ? 1.0f : -sum;
    }
  } else if (thread < 2 * order) {
#pragma unroll
    for (int i = strip - 1; i >= 0; --i) {
      float sum = 0;
#pragma unroll
      for (int k = strip - 1; k > i; --k) sum = fmaf(x[corner + k][corner + i], z[k], sum);
      z[i] = i > c ? 0.0f : ((i == c ? 1.0f : 0.0f) - sum) / x[corner + i][corner + i];
    }
  }
  __syncthreads();
  if (thread < 2 * order) {
#pragma unroll
    for (int i = 0; i < strip; ++i)
      if (of_lower ? i > c : i <= c) x[corner + c][corner + i] = z[i];
  }
  __syncthreads();
}

/// Four rows of a block off the diagonal that joins the inverses of two blocks of order h: below
/// the diagonal for L, above it for U.
struct Joint {
  bool lower;
  int corner;  // of the pair of blocks
  int row;
  int column;

  __device__ Joint(int number, int h) {
    const int of_each = order * h / 8;  // order / (2 h) pairs, h columns, h / 4 strips of rows
    lower = number < of_each;
    const int place = number % of_each;
    const int in_pair = place % (h * h / 4);
    corner = place / (h * h / 4) * 2 * h;
    row = in_pair % (h / 4) * 4;
    column = in_pair / (h / 4);
  }
};

// y <- the triangles of both inverses with their zeros: of each pair of blocks of order h, those of
// L^-1 on the diagonal, and beside the first and below it U^-1 of the first and of the second.
__device__ inline void spread_triangles(ConstTile x, Tile y, int h) {
#pragma unroll 1
  for (int e = static_cast<int>(threadIdx.x); e < 2 * h * order; e += tile_threads) {
    const int corner = e / (4 * h * h) * 2 * h;
    const int i = e % (2 * h);
    const int j = e / (2 * h) % (2 * h);
    const int from = corner + (i < h ? 0 : h);
    const float value = x[from + j % h][from + i % h];
    const Part part = (i < h) == (j < h) ? Part::unit_lower : Part::upper;
    y[corner + j][corner + i] = kept(value, part, i % h, j % h);
  }
}

/// X = L\U <- L^-1\U^-1, by pairs of larger and larger blocks: -W2 L21 W1 below the diagonal and
// -V1 U12 V2 above it. y is scratch memory.
__device__ inline void invert(Tile x, Tile y) {
  invert_strips(x);
  constexpr int most = 2;  // joints of a thread
#pragma unroll 1
  for (int h = strip; h < order; h *= 2) {
    spread_triangles(x, y, h);
    __syncthreads();
    const int joints = order * h / 4;
#pragma unroll 1
    for (int product = 0; product < 2; ++product) {
      const bool second = product > 0;
      float4 sums[most];
#pragma unroll
      for (int s = 0; s < most; ++s) {
        const int number = static_cast<int>(threadIdx.x) + s * tile_threads;
        sums[s] = {0, 0, 0, 0};
        if (number >= joints) continue;
        const Joint at(number, h);
        const int o = at.corner;
        const int beside = o + h;
        // First L21 W1 or U12 V2, then W2 or V1 times that.
        const float* left = second ? &y[beside][(at.lower ? beside : o) + at.row]
                                   : &x[at.lower ? o : beside][(at.lower ? beside : o) + at.row];
        const float* right = second ? &x[(at.lower ? o : beside) + at.column][at.lower ? beside : o]
                                    : &y[o + at.column][at.lower ? o : beside];
#pragma unroll 4
        for (int k = 0; k < h; ++k, left += pitch) {
          const float4 l = *reinterpret_cast<const float4*>(left);
          sums[s].x = fmaf(l.x, right[k], sums[s].x);
          sums[s].y = fmaf(l.y, right[k], sums[s].y);
          sums[s].z = fmaf(l.z, right[k], sums[s].z);
          sums[s].w = fmaf(l.w, right[k], sums[s].w);
        }
      }
      __syncthreads();
      const float sign = second ? -1 : 1;
#pragma unroll
      for (int s = 0; s < most; ++s) {
        const int number = static_cast<int>(threadIdx.x) + s * tile_threads;
        if (number >= joints) continue;
        const Joint at(number, h);
        const int beside = at.corner + h;
        float* const to = at.lower ? &x[at.corner + at.column][beside + at.row]
                                   : &x[beside + at.column][at.corner + at.row];
        *reinterpret_cast<float4*>(to) = {sign * sums[s].x, sign * sums[s].y, sign * sums[s].z,
                                          sign * sums[s].w};
      }
      __syncthreads();
    }
  }
}

}  // namespace speedwell::cuda
