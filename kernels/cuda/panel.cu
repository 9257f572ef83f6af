// SPDX-License-Identifier: BSD-3-Clause
// Operations that turn a block column into a panel: the factors of its diagonal tiles, its scale
// and its rounding.
#include "cuda/complex.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/magnitude.hpp"
#include "element/rounding.hpp"

namespace lupine::cuda {

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000u;
constexpr double largest_finite = 0x1.fffffffffffffp+1023;

__global__ void __launch_bounds__(matrix_threads)
    largest_kernel(MatrixView<const float> a, std::uint32_t* bits) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  std::uint32_t mine = 0;
  if (i < a.rows)
    for (std::int64_t j = blockIdx.y; j < a.columns; j += gridDim.y) {
      const std::uint32_t here = magnitude_bits(a(i, j));
      mine = here > mine ? here : mine;
    }
  join_largest(mine, bits);
}

/// An FP16x3 matrix.
struct HalfPlanes {
  MatrixView<Half> high;
  MatrixView<Half> low;
};

// to(i, j) <- round(value); of a complex value z the 2 x 2 block with which products are those
// with z.
__device__ void store(float value, const MatrixView<Half>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = to_half(value);
}
__device__ void store(float value, const MatrixView<Bfloat16>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = to_bfloat16(value);
}
__device__ void store(float value, const MatrixView<float>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = value;
}
__device__ void store(float value, const MatrixView<double>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = static_cast<double>(value);
}
__device__ void store(double value, const MatrixView<double>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = value;
}
__device__ void store(Half value, const MatrixView<float>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = to_float(value);
}
__device__ void store(Bfloat16 value, const MatrixView<float>& to, std::int64_t i, std::int64_t j) {
  to(i, j) = to_float(value);
}
__device__ void store(float value, const HalfPlanes& to, std::int64_t i, std::int64_t j) {
  const HalfPair pair = to_half_pair(value);
  to.high(i, j) = pair.high;
  to.low(i, j) = pair.low;
}

template <class T, class To>
__device__ void store(Complex<T> z, const To& to, std::int64_t i, std::int64_t j) {
  store(z.re, to, 2 * i, 2 * j);
  store(z.im, to, 2 * i + 1, 2 * j);
  store(-z.im, to, 2 * i, 2 * j + 1);
  store(z.re, to, 2 * i + 1, 2 * j + 1);
}

template <class From, class To>
__global__ void __launch_bounds__(matrix_threads)
    cast_kernel(MatrixView<const From> from, float sign, To to, bool scaled,
                const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite) {
  const std::uint32_t bits = *largest_bits;
  const double s = scaled ? power_of_two(fp16_scale_exponent(float_of(bits))) : 1.0;
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i == 0 && blockIdx.y == 0) {
    *scale = s;
    if (bits >= infinity_bits) *nonfinite = 1;
  }
  if (i >= from.rows) return;
  const auto factor = static_cast<float>(static_cast<double>(sign) * s);
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < from.columns; j += gridDim.y)
    store(from(i, j) * factor, to, i, j);
}

__device__ bool is_finite(double value) {
  return fabs(value) <= largest_finite;
}
__device__ bool is_finite(Complex<double> z) {
  return is_finite(z.re) && is_finite(z.im);
}

// FP64 values are not rounded, so that no scale has to be found before.
template <class From>
__global__ void __launch_bounds__(matrix_threads)
    copy_signed_kernel(MatrixView<const From> from, double sign, MatrixView<double> to,
                       double* scale, std::int64_t* nonfinite) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i == 0 && blockIdx.y == 0) *scale = 1;
  if (i >= from.rows) return;
  bool finite = true;
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < from.columns; j += gridDim.y) {
    const From value = from(i, j);
    finite = finite && is_finite(value);
    store(value * sign, to, i, j);
  }
  if (!finite) *nonfinite = 1;
}

template <class From, class To>
__global__ void __launch_bounds__(matrix_threads)
    convert_kernel(MatrixView<const From> from, MatrixView<To> to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= from.rows) return;
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < from.columns; j += gridDim.y) store(from(i, j), to, i, j);
}

constexpr int scale_threads = 1;

__global__ void __launch_bounds__(scale_threads)
    inverse_scale_kernel(const double* l_scale, const double* u_scale, float* alpha,
                         float* low_alpha) {
  const double inverse = 1 / (*l_scale * *u_scale);
  *alpha = static_cast<float>(inverse);
  *low_alpha = static_cast<float>(inverse * 0x1p-11);
}

// One block of threads works on one tile. Thread t has row t % order and every eighth column.
constexpr int order = static_cast<int>(tile_order);
constexpr int column_groups = 8;
constexpr int tile_threads = order * column_groups;
using Tile = float[order][order + 1];  // padded, so that neighbouring rows are in different banks

__device__ bool usable(float pivot) {
  return pivot != 0 && magnitude_bits(pivot) < infinity_bits;
}

// For each column k in turn: l_ik <- a_ik / a_kk, then a_ij <- a_ij - l_ik a_kj.
__device__ void eliminate(Tile& a, int n, int i, int first, std::int64_t begin,
                          std::int64_t* bad_pivot) {
  for (int k = 0; k < n; ++k) {
    if (threadIdx.x == 0 && !usable(a[k][k]) && *bad_pivot < 0) *bad_pivot = begin + k;
    if (first == 0 && i > k && i < n) a[i][k] /= a[k][k];
    __syncthreads();
    if (i > k && i < n)
      for (int j = first; j < n; j += column_groups)
        if (j > k) a[i][j] = fmaf(-a[i][k], a[k][j], a[i][j]);
    __syncthreads();
  }
}

// X <- L^-1 below the diagonal. Row k is final once multiples of all rows above have been
// subtracted.
__device__ void invert_lower(const Tile& a, Tile& x, int n, int i, int first) {
  for (int k = 0; k < n; ++k) {
    if (i > k && i < n)
      for (int j = first; j <= k; j += column_groups)
        x[i][j] = fmaf(-a[i][k], j == k ? 1.0f : x[k][j], x[i][j]);
    __syncthreads();
  }
}

// X <- U^-1 on and above the diagonal. Row k is final once multiples of all rows below have been
// subtracted and it is divided by u_kk.
__device__ void invert_upper(const Tile& a, Tile& x, int n, int i, int first) {
  for (int k = n - 1; k >= 0; --k) {
    if (const int j = static_cast<int>(threadIdx.x); j >= k && j < n)
      x[k][j] = ((j == k ? 1.0f : 0.0f) + x[k][j]) / a[k][k];
    __syncthreads();
    if (i < k)
      for (int j = first; j < n; j += column_groups)
        if (j >= k) x[i][j] = fmaf(-a[i][k], x[k][j], x[i][j]);
    __syncthreads();
  }
}

// Block b inverts tile b on the diagonal, and factors it before if `factors`.
template <bool factors>
__global__ void __launch_bounds__(tile_threads)
    tile_kernel(MatrixView<float> matrix, std::int64_t begin, std::int64_t* bad_pivot) {
  __shared__ Tile a;
  __shared__ Tile x;
  const std::int64_t corner = blockIdx.x * tile_order;
  const std::int64_t rest = matrix.rows - corner;
  const int n = rest < tile_order ? static_cast<int>(rest) : order;
  const MatrixView<float> view = matrix.block(corner, corner, n, n);
  const int i = static_cast<int>(threadIdx.x) % order;
  const int first = static_cast<int>(threadIdx.x) / order;
  for (int j = first; j < n; j += column_groups) {
    if (i < n) a[i][j] = view(i, j);
    x[i][j] = 0;
  }
  __syncthreads();
  if (factors) eliminate(a, n, i, first, begin, bad_pivot);
  invert_lower(a, x, n, i, first);
  invert_upper(a, x, n, i, first);
  for (int j = first; j < n; j += column_groups)
    if (i < n) view(i, j) = x[i][j];
}

// A block of threads has `share` columns of B (left) or rows of it: thread i computes element i of
// each. It reads the triangle in slices of `slice` of the sum's terms. Its threads are the order of
// the triangle in whole warps.
constexpr int triangle_threads = static_cast<int>(triangle_order);
constexpr int share = 8;
constexpr int slice = 32;
static_assert(triangle_threads % slice == 0 && slice % share == 0);

template <bool left>
__global__ void __launch_bounds__(triangle_threads)
    triangle_kernel(MatrixView<const float> t, bool lower, float alpha, MatrixView<float> b) {
  __shared__ float known[triangle_threads][share];
  __shared__ float terms[slice][triangle_threads + 1];
  const int w = static_cast<int>(t.rows);
  const int threads = static_cast<int>(blockDim.x);
  const int i = static_cast<int>(threadIdx.x);
  const std::int64_t begin = std::int64_t{blockIdx.x} * share;
  const std::int64_t rest = (left ? b.columns : b.rows) - begin;
  const int count = rest < share ? static_cast<int>(rest) : share;
  if (left) {
    for (int v = 0; v < share; ++v)
      if (i < w) known[i][v] = v < count ? b(i, begin + v) : 0;
  } else {
    const int v = i % share;
    for (int k = i / share; k < w; k += threads / share)
      known[k][v] = v < count ? b(begin + v, k) : 0;
  }
  // Term k of element i is t_ik (left) or t_ki; those beyond the diagonal are not the triangle's.
  const bool first_terms = lower == left;
  const int from = first_terms ? 0 : i;
  const int to = first_terms ? i + 1 : w;
  float sums[share] = {};
  for (int s = 0; s < w; s += slice) {
    __syncthreads();
    if (left) {
      for (int k = s; k < s + slice && k < w; ++k)
        if (i < w) terms[k - s][i] = lower && i == k ? 1.0f : t(i, k);
    } else {
      const int k = s + i % slice;
      for (int j = i / slice; j < w && k < w; j += threads / slice)
        terms[k - s][j] = lower && k == j ? 1.0f : t(k, j);
    }
    __syncthreads();
    const int last = to < s + slice ? to : s + slice;
    if (i < w)
      for (int k = from > s ? from : s; k < last; ++k)
#pragma unroll
        for (int v = 0; v < share; ++v) sums[v] = fmaf(terms[k - s][i], known[k][v], sums[v]);
  }
  if (left) {
    for (int v = 0; v < count; ++v)
      if (i < w) b(i, begin + v) = alpha * sums[v];
    return;
  }
  __syncthreads();  // before `known` is written again
  for (int v = 0; v < share; ++v)
    if (i < w) known[i][v] = alpha * sums[v];
  __syncthreads();
  const int v = i % share;
  for (int k = i / share; k < w; k += threads / share)
    if (v < count) b(begin + v, k) = known[k][v];
}

}  // namespace

cudaError_t largest_magnitude(cudaStream_t stream, MatrixView<const float> a, std::uint32_t* bits) {
  if (a.empty()) return cudaSuccess;
  return launch(stream, matrix_grid(a.rows, a.columns), matrix_threads, largest_kernel, a, bits);
}

namespace {

// Calls `use` with an FP32 or FP64 matrix as one of T or of Complex<T>.
template <class T, class Use>
cudaError_t with_field(ConstAnyMatrix m, const Use& use) {
  return m.field == Field::complex ? use(elements_of<Complex<T>>(m)) : use(m.as<T>());
}

}  // namespace

cudaError_t cast(cudaStream_t stream, ConstAnyMatrix from, float sign, AnyMatrix to,
                 const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite) {
  const auto cast_to = [&]<class To>(const To& target) {
    return with_field<float>(from, [&]<class From>(MatrixView<const From> source) {
      return launch(stream, matrix_grid(from.rows, from.columns), matrix_threads,
                    cast_kernel<From, To>, source, sign, target, needs_scale(to.precision),
                    largest_bits, scale, nonfinite);
    });
  };
  switch (to.precision) {
    case Precision::fp16x3:
      return cast_to(HalfPlanes{to.high(), to.low()});
    case Precision::fp16:
      return cast_to(to.as<Half>());
    case Precision::bf16:
      return cast_to(to.as<Bfloat16>());
    default:
      return cast_to(to.as<float>());
  }
}

cudaError_t convert(cudaStream_t stream, ConstAnyMatrix from, AnyMatrix to) {
  if (from.empty()) return cudaSuccess;
  const auto convert_to = [&]<class From, class To>(MatrixView<const From> source,
                                                    MatrixView<To> target) {
    return launch(stream, matrix_grid(from.rows, from.columns), matrix_threads,
                  convert_kernel<From, To>, source, target);
  };
  if (from.precision == Precision::fp16) return convert_to(from.as<Half>(), to.as<float>());
  if (from.precision == Precision::bf16) return convert_to(from.as<Bfloat16>(), to.as<float>());
  if (to.precision == Precision::fp64) return convert_to(from.as<float>(), to.as<double>());
  if (to.precision == Precision::fp16) return convert_to(from.as<float>(), to.as<Half>());
  return convert_to(from.as<float>(), to.as<Bfloat16>());
}

cudaError_t copy_signed(cudaStream_t stream, ConstAnyMatrix from, double sign,
                        MatrixView<double> to, double* scale, std::int64_t* nonfinite) {
  return with_field<double>(from, [&]<class From>(MatrixView<const From> source) {
    return launch(stream, matrix_grid(from.rows, from.columns), matrix_threads,
                  copy_signed_kernel<From>, source, sign, to, scale, nonfinite);
  });
}

cudaError_t inverse_scale(cudaStream_t stream, const double* l_scale, const double* u_scale,
                          float* alpha, float* low_alpha) {
  return launch(stream, 1, scale_threads, inverse_scale_kernel, l_scale, u_scale, alpha, low_alpha);
}

cudaError_t factor_tile(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                        std::int64_t* bad_pivot) {
  if (a.empty()) return cudaSuccess;
  if (a.rows > tile_order || a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, 1, tile_threads, tile_kernel<true>, a, begin, bad_pivot);
}

cudaError_t multiply_triangle(cudaStream_t stream, bool left, Triangle triangle, float alpha,
                              MatrixView<const float> t, MatrixView<float> b) {
  if (b.empty()) return cudaSuccess;
  if (t.rows != t.columns || t.rows > triangle_order || t.rows != (left ? b.rows : b.columns))
    return cudaErrorInvalidValue;
  return launch(stream, blocks(left ? b.columns : b.rows, share),
                static_cast<unsigned>(round_up(t.rows, std::int64_t{slice})),
                left ? triangle_kernel<true> : triangle_kernel<false>, t,
                triangle == Triangle::unit_lower, alpha, b);
}

cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a) {
  if (a.empty()) return cudaSuccess;
  if (a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, blocks(a.rows, tile_order), tile_threads, tile_kernel<false>, a, 0,
                nullptr);
}

}  // namespace lupine::cuda
