// SPDX-License-Identifier: BSD-3-Clause
// Tiles on the diagonal: their factors without pivoting, and the inverses of these.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/tile.hpp"

namespace lupine::cuda {

namespace {

// Without this number of blocks on a multiprocessor, the compiler spills registers for sm_100.
constexpr int blocks_at_once = 2;

// Block b factors tile b on the diagonal if `factors`, and inverts its triangles.
template <bool factors>
__global__ void __launch_bounds__(tile_threads, blocks_at_once)
    tile_kernel(MatrixView<float> matrix, std::int64_t begin, std::int64_t* bad_pivot) {
  __shared__ TwoTiles tiles;
  const std::int64_t corner = blockIdx.x * tile_order;
  const std::int64_t rest = matrix.rows - corner;
  const int n = rest < tile_order ? static_cast<int>(rest) : order;
  const MatrixView<float> tile = matrix.block(corner, corner, n, n);
  float values[tile_share];
  for_each_number([&](int s, int i, int j) {  // beyond A: the unit matrix
    values[s] = i < n && j < n ? tile(i, j) : i == j ? 1.0f : 0.0f;
  });
  for_each_number([&](int s, int i, int j) { tiles.x()[j][i] = values[s]; });
  __syncthreads();
  if (factors) factor(tiles.x(), n, begin, bad_pivot);
  invert(tiles.x(), tiles.y());
  for_each_number([&](int, int i, int j) {
    if (i < n && j < n) tile(i, j) = tiles.x()[j][i];
  });
}

}  // namespace

cudaError_t factor_tile(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                        std::int64_t* bad_pivot) {
  if (a.empty()) return cudaSuccess;
  if (a.rows > tile_order || a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, 1, tile_threads, tile_kernel<true>, a, begin, bad_pivot);
}

cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a) {
  if (a.empty()) return cudaSuccess;
  if (a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, blocks(a.rows, tile_order), tile_threads, tile_kernel<false>, a, 0,
                nullptr);
}

}  // namespace lupine::cuda
