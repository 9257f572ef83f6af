// SPDX-License-Identifier: BSD-3-Clause
// What solves with a whole inverse need beside their products: the inverse of a triangle without
// its diagonal, in FP16, and right-hand sides in FP16.
#include "cuda/columns.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/magnitude.hpp"
#include "cuda/packs.hpp"
#include "element/rounding.hpp"

namespace speedwell::cuda {

namespace {

struct Add {
  __device__ float operator()(float a, float b) const { return a + b; }
};

// A warp has a column. The order of a sum depends only on the sizes.
__global__ void __launch_bounds__(matrix_threads)
    measure_kernel(MatrixView<const float> inverse, bool lower, std::uint32_t* largest,
                   std::uint32_t* growth) {
  const std::int64_t j =
      std::int64_t{blockIdx.x} * (matrix_threads / warp_threads) + threadIdx.x / warp_threads;
  std::uint32_t most = 0;
  float sum = 0;
  if (j < inverse.columns) {
    const std::int64_t begin = lower ? j + 1 : 0;
    const std::int64_t end = lower ? inverse.rows : j;
#pragma unroll 4
    for (std::int64_t i = begin + threadIdx.x % warp_threads; i < end; i += warp_threads) {
      const std::uint32_t bits = magnitude_bits(inverse(i, j));
      most = larger_bits(most, bits);
      sum = fmaf(inverse(i, j), inverse(i, j), sum);
    }
    sum = sqrtf(join_warp(sum, Add{}));
    if (!lower) sum /= float_of(magnitude_bits(inverse(j, j)));
  }
  const std::uint32_t of_sum = threadIdx.x % warp_threads == 0 ? magnitude_bits(sum) : 0;
  const auto found =
      join_block<2>({most, of_sum}, [](auto x, auto y) { return larger_bits(x, y); });
  if (threadIdx.x < 2) atomicMax(threadIdx.x == 0 ? largest : growth, found);
}

template <int rows>
__global__ void __launch_bounds__(matrix_threads)
    round_inverse_kernel(MatrixView<const float> inverse, bool lower, WholeInverse to) {
  const double s = power_of_two(fp16_scale_exponent(float_of(*to.largest)));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *to.scale = s;
  const auto factor = static_cast<float>(s);
  for_each_pack<rows>(inverse, [&](const auto& values, std::int64_t i, std::int64_t j) {
    constexpr int count = std::remove_cvref_t<decltype(values)>::count;
    Pack<Half, count> rounded;
#pragma unroll
    for (int r = 0; r < count; ++r) {
      const bool counts = lower ? i + r > j : i + r < j;
      rounded.of[r] = to_half(counts ? values.of[r] * factor : 0.0f);
      if (i + r == j) to.diagonal[j] = values.of[r];
    }
    store(rounded, to.values, i, j);
  });
}

template <int rows>
__global__ void __launch_bounds__(matrix_threads)
    split_diagonal_kernel(MatrixView<float> b, const float* diagonal, MatrixView<Half> rounded,
                          const std::uint32_t* largest, double* scale) {
  const double s = power_of_two(fp16_scale_exponent(float_of(*largest)));
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *scale = s;
  const auto factor = static_cast<float>(s);
  const MatrixView<const float> from = b;
  for_each_pack<rows>(from, [&](auto values, std::int64_t i, std::int64_t j) {
    constexpr int count = decltype(values)::count;
    Pack<Half, count> halves;
#pragma unroll
    for (int r = 0; r < count; ++r) halves.of[r] = to_half(values.of[r] * factor);
    store(halves, rounded, i, j);
    if (diagonal == nullptr) return;
    const float d = diagonal[j];
#pragma unroll
    for (int r = 0; r < count; ++r) values.of[r] = values.of[r] * d;
    store(values, b, i, j);
  });
}

// A block of threads has a block of L, and thread j column j of its inverse X:
//     x_ij = -l_ij - sum_{j < k < i} l_ik x_kj.
// X stands in the shared memory beside L: x_kj at (j, k), so that neighbouring threads read from
// other banks, and l_ik is one word for all.
__global__ void __launch_bounds__(inverted_lower)
    invert_lower_kernel(MatrixView<const double> l, MatrixView<double> inverses,
                        std::uint32_t* growth) {
  SPEEDWELL_DYNAMIC_SHARED(memory);
  auto* const square = reinterpret_cast<double*>(memory);
  const auto at = [square](int i, int k) -> double& {
    return square[i * static_cast<int>(inverted_lower + 1) + k];
  };
  const std::int64_t first = std::int64_t{blockIdx.x} * inverted_lower;
  const std::int64_t rest = l.rows - first;
  const int n = static_cast<int>(rest < inverted_lower ? rest : inverted_lower);
  const int j = static_cast<int>(threadIdx.x);
  for (int k = 0; k < n; ++k)
    if (j > k && j < n) at(j, k) = l(first + j, first + k);
  __syncthreads();
  const int ahead = j / warp_threads * warp_threads;  // no column of this warp begins before
  double norm = 0;
  for (int i = ahead + 1; i < n; ++i) {
    double sum = 0;
#pragma unroll 4
    for (int k = ahead; k < i; ++k)
      sum = fma(at(i, k), k > j ? at(j, k) : (k == j ? 1.0 : 0.0), sum);
    if (j >= i) continue;
    at(j, i) = -sum;
    norm = fma(sum, sum, norm);
  }
  __syncthreads();
  for (int k = 0; k < n; ++k)
    if (j < n) inverses(j, first + k) = k < j ? at(k, j) : (k == j ? 1.0 : 0.0);
  const std::uint32_t bits = magnitude_bits(static_cast<float>(sqrt(norm)));
  const auto largest = join_warp(bits, [](auto x, auto y) { return larger_bits(x, y); });
  if (j % warp_threads == 0) atomicMax(growth, largest);
}

}  // namespace

cudaError_t invert_lower(cudaStream_t stream, MatrixView<const double> l,
                         MatrixView<double> inverses, std::uint32_t* growth) {
  if (l.empty()) return cudaSuccess;
  return launch_shared(stream, blocks(l.rows, inverted_lower), inverted_lower, inverted_lower_bytes,
                       invert_lower_kernel, l, inverses, growth);
}

cudaError_t round_inverse(cudaStream_t stream, MatrixView<const float> inverse, Triangle triangle,
                          const WholeInverse& to, std::uint32_t* growth) {
  if (inverse.empty()) return cudaSuccess;
  const bool lower = triangle == Triangle::unit_lower;
  const cudaError_t error =
      launch(stream, blocks(inverse.columns, matrix_threads / warp_threads), matrix_threads,
             measure_kernel, inverse, lower, to.largest, growth);
  if (error != cudaSuccess) return error;
  return in_packs(
      [&]<int rows>() {
        return launch(stream, packed_grid<rows>(inverse.rows, inverse.columns), matrix_threads,
                      round_inverse_kernel<rows>, inverse, lower, to);
      },
      inverse, to.values);
}

cudaError_t split_diagonal(cudaStream_t stream, MatrixView<float> b, const float* diagonal,
                           MatrixView<Half> rounded, const std::uint32_t* largest, double* scale) {
  if (b.empty()) return cudaSuccess;
  return in_packs(
      [&]<int rows>() {
        return launch(stream, packed_grid<rows>(b.rows, b.columns), matrix_threads,
                      split_diagonal_kernel<rows>, b, diagonal, rounded, largest, scale);
      },
      b, rounded);
}

}  // namespace speedwell::cuda
