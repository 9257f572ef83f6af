// SPDX-License-Identifier: BSD-3-Clause
// Diagonal blocks without pivoting: by one kernel, or by halves. Which of them is faster on this
// GPU, a trial says before the first run (cuda_trials.cpp).
#include <algorithm>
#include <array>

#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace speedwell {

namespace {

// The order of the first part of a matrix of order n > m that is split in two: the largest m 2^k
// below n, so that this part consists of whole blocks of each smaller size.
std::int64_t cut(std::int64_t n, std::int64_t m) {
  while (2 * m < n) m *= 2;
  return m;
}

constexpr std::array triangles{Triangle::unit_lower, Triangle::upper};

}  // namespace

void CudaDevice::factor_diagonal(Queue& queue, MatrixView<float> a, std::int64_t begin,
                                 FactorStatus* status) {
  Lane& l = lane(queue);
  const bool at_once = a.rows > cuda::tile_order && variants_.few(varied::diagonal, a.rows);
  at_once ? factor_at_once(l, a, begin, status) : factor(l, a, begin, status);
}

void CudaDevice::factor_at_once(Lane& l, MatrixView<float> a, std::int64_t begin,
                                FactorStatus* status) {
  const int panel = panel_multiprocessors(panel_part_);
  const int free = panel > 0 ? panel : properties().multiProcessorCount;
  check(cuda::factor_block(l.stream(), a, begin, cuda::factor_blocks_at_once * free,
                           l.scratch(cuda::factor_block_scratch(a.rows)), &status->bad_pivot,
                           &status->stuck),
        "factor_block");
}

// [ A11 A12 ]   [ L11     ] [ U11 U12 ]
// [ A21 A22 ] = [ L21 L22 ] [     U22 ], by halves.
void CudaDevice::factor(Lane& l, MatrixView<float> a, std::int64_t begin, FactorStatus* status) {
  const std::int64_t n = a.rows;
  if (n <= cuda::tile_order)
    return check(cuda::factor_tile(l.stream(), a, begin, &status->bad_pivot), "factor_tile");
  const std::int64_t h = cut(n, cuda::tile_order);
  const MatrixView<float> a11 = a.block(0, 0, h, h);
  const MatrixView<float> a12 = a.block(0, h, h, n - h);
  const MatrixView<float> a21 = a.block(h, 0, n - h, h);
  const MatrixView<float> a22 = a.block(h, h, n - h, n - h);
  factor(l, a11, begin, status);
  solve_exactly(l, Triangle::unit_lower, a11, a12);  // U12 = L11^-1 A12
  solve_exactly(l, Triangle::upper, a11, a21);       // L21 = A21 U11^-1
  products().multiply(l, Reading::fp32, -1, factor_of(a21), factor_of(a12), 1, a22);
  factor(l, a22, begin + h, status);
  if (n > cuda::triangle_order) return;
  for (const Triangle triangle : triangles) combine_inverses(l, triangle, a, h);
}

// Inverts all tiles at once, and then larger and larger blocks. FP64 and complex solves read L\U
// itself.
void CudaDevice::prepare_diagonal(Queue& queue, AnyMatrix lu) {
  if (lu.precision == Precision::fp64 || lu.field == Field::complex || lu.empty()) return;
  Lane& l = lane(queue);
  const MatrixView<float> a = lu.as<float>();
  check(cuda::invert_tiles(l.stream(), a), "invert_tiles");
  for (std::int64_t s = 0; s < a.rows; s += cuda::triangle_order) {
    const std::int64_t w = std::min(cuda::triangle_order, a.rows - s);
    for (const Triangle triangle : triangles)
      invert(l, triangle, a.block(s, s, w, w), cuda::tile_order);
  }
}

// Inverts a triangle of `a`, whose blocks of order `from` on the diagonal have been inverted
// before.
void CudaDevice::invert(Lane& l, Triangle triangle, MatrixView<float> a, std::int64_t from) {
  if (a.rows <= from) return;
  const std::int64_t h = cut(a.rows, from);
  invert(l, triangle, a.block(0, 0, h, h), from);
  invert(l, triangle, a.block(h, h, a.rows - h, a.rows - h), from);
  combine_inverses(l, triangle, a, h);
}

// The block off the diagonal: -L22^-1 L21 L11^-1 of L^-1, or -U11^-1 U12 U22^-1 of U^-1.
void CudaDevice::combine_inverses(Lane& l, Triangle triangle, MatrixView<float> a, std::int64_t h) {
  const std::int64_t rest = a.rows - h;
  const MatrixView<float> first = a.block(0, 0, h, h);
  const MatrixView<float> second = a.block(h, h, rest, rest);
  const bool lower = triangle == Triangle::unit_lower;
  const MatrixView<float> beside = lower ? a.block(h, 0, rest, h) : a.block(0, h, h, rest);
  triangle_product(l, CUBLAS_SIDE_LEFT, triangle, -1, lower ? second : first, beside);
  triangle_product(l, CUBLAS_SIDE_RIGHT, triangle, 1, lower ? first : second, beside);
}

}  // namespace speedwell
