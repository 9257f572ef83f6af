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

// One block of threads works on one tile. Thread t has row t % order, and of it `own` columns from
// own * (t / order) on, in registers: the steps follow each other, so that their latency decides.
constexpr int order = static_cast<int>(tile_order);
constexpr int own = 16;
constexpr int tile_threads = order * (order / own);

__device__ bool usable(float pivot) {
  return pivot != 0 && magnitude_bits(pivot) < infinity_bits;
}

// With fewer blocks on a multiprocessor there are enough registers for all of a tile.
constexpr int tiles_at_once = 1;

// Block b inverts tile b on the diagonal, and factors it before if `factors`.
//
// Step k of the elimination subtracts m_i = a_ik / u_kk times row k from each row i below. The same
// step on the rows of the unit matrix makes L^-1, and on its columns (column j minus column k times
// u_kj / u_kk) the inverse of the unit triangle D^-1 U, D the diagonal of U. All three stand in the
// place of A: step k needs row k and column k as they are then, and leaves, for
//
//   i > k, j > k:   a_ij - m_i u_kj, with l_ik = m_i
//   i > k, j <= k:  x_ij - m_i x_kj of L^-1, with x_kk = 1, x_ik = 0 before
//   i <= k, j > k:  y_ij - m_i u_kj of (D^-1 U)^-1, m_i = y_ik / u_kk with y_kk = 1, y_kj = 0
//   before
//
// In the end U^-1 = (D^-1 U)^-1 D^-1.
template <bool factors>
__global__ void __launch_bounds__(tile_threads, tiles_at_once)
    tile_kernel(MatrixView<float> matrix, std::int64_t begin, std::int64_t* bad_pivot) {
  // Row and column k are written by their owners before step k, into one of two places by turns,
  // so that a step has one barrier.
  __shared__ float rows[2][order];
  __shared__ float columns[2][order];
  __shared__ float pivots[order];
  const std::int64_t corner = blockIdx.x * tile_order;
  const std::int64_t rest = matrix.rows - corner;
  const int n = rest < tile_order ? static_cast<int>(rest) : order;
  const MatrixView<float> view = matrix.block(corner, corner, n, n);
  const int i = static_cast<int>(threadIdx.x) % order;
  const int first = static_cast<int>(threadIdx.x) / order * own;
  float a[own];
#pragma unroll
  for (int c = 0; c < own; ++c) {
    const int j = first + c;
    a[c] = i < n && j < n ? view(i, j) : i == j ? 1 : 0;  // beyond the tile: the unit matrix
  }
  if (i == 0)
#pragma unroll
    for (int c = 0; c < own; ++c) rows[0][first + c] = a[c];
  if (first == 0) columns[0][i] = a[0];
  __syncthreads();
  for (int group = 0; group < n; group += own) {
#pragma unroll
    for (int e = 0; e < own; ++e) {  // e is known when it is compiled: a[e] is a register
      const int k = group + e;
      const float* const row = rows[e % 2];
      const float pivot = row[k];
      if (threadIdx.x == 0) {
        pivots[k] = pivot;
        if (factors && !usable(pivot) && *bad_pivot < 0) *bad_pivot = begin + k;
      }
      const float left = i == k ? 1.0f : columns[e % 2][i];
      const float m = !factors && i > k ? left : left / pivot;
#pragma unroll
      for (int c = 0; c < own; ++c) {
        const int j = first + c;
        const bool subtracts = i > k ? factors || j <= k : j > k;
        const float before = j == k || i == k ? 0 : a[c];
        if (subtracts) a[c] = fmaf(-m, j == k ? 1.0f : row[j], before);
      }
      const int next = (e + 1) % 2;
      if (i == k + 1)
#pragma unroll
        for (int c = 0; c < own; ++c) rows[next][first + c] = a[c];
      const int owner = e + 1 < own ? group : group + own;  // of column k + 1
      if (first == owner) columns[next][i] = a[(e + 1) % own];
      __syncthreads();
    }
  }
#pragma unroll
  for (int c = 0; c < own; ++c) {
    const int j = first + c;
    if (i < n && j < n) view(i, j) = i > j ? a[c] : (i == j ? 1.0f : a[c]) / pivots[j];
  }
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

cudaError_t invert_tiles(cudaStream_t stream, MatrixView<float> a) {
  if (a.empty()) return cudaSuccess;
  if (a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, blocks(a.rows, tile_order), tile_threads, tile_kernel<false>, a, 0,
                nullptr);
}

}  // namespace lupine::cuda
