// SPDX-License-Identifier: BSD-3-Clause
// Operations that turn a block column into a panel: the factors of its diagonal tiles, its scale
// and its rounding.
#include "cuda/complex.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/magnitude.hpp"
#include "cuda/packs.hpp"
#include "element/rounding.hpp"

namespace speedwell::cuda {

namespace {

constexpr std::uint32_t infinity_bits = 0x7f800000u;
constexpr double largest_finite = 0x1.fffffffffffffp+1023;

template <int rows>
__global__ void __launch_bounds__(matrix_threads)
    largest_kernel(MatrixView<const float> a, std::uint32_t* bits) {
  std::uint32_t mine = 0;
  for_each_pack<rows>(a, [&](const auto& values, auto...) {
#pragma unroll
    for (int r = 0; r < values.count; ++r) mine = larger_bits(mine, magnitude_bits(values.of[r]));
  });
  join_largest(mine, bits);
}

/// An FP16x3 matrix.
struct HalfPlanes {
  MatrixView<Half> high;
  MatrixView<Half> low;
};

// The number as T stores it.
template <class T, class From>
__device__ T stored(From value) {
  if constexpr (std::is_same_v<T, Half>)
    return to_half(value);
  else if constexpr (std::is_same_v<T, Bfloat16>)
    return to_bfloat16(value);
  else if constexpr (sizeof(From) == 2)
    return to_float(value);
  else
    return static_cast<T>(value);
}

template <class T>
constexpr bool is_complex = false;
template <class T>
constexpr bool is_complex<Complex<T>> = true;

// to <- numbers of a column, from (i, j) on; of a complex value z the 2 x 2 block with which
// products are those with z.
template <int rows, class From, class To>
__device__ void store_numbers(const Pack<From, rows>& values, const To& to, std::int64_t i,
                              std::int64_t j) {
  if constexpr (is_complex<From>) {
    static_assert(rows == 1);
    const auto [re, im] = values.of[0];
    const auto store_one = [&](auto number, std::int64_t row, std::int64_t column) {
      store_numbers(Pack<decltype(number), 1>{{number}}, to, 2 * i + row, 2 * j + column);
    };
    store_one(re, 0, 0);
    store_one(im, 1, 0);
    store_one(-im, 0, 1);
    store_one(re, 1, 1);
  } else if constexpr (std::is_same_v<To, HalfPlanes>) {
    Pack<Half, rows> high;
    Pack<Half, rows> low;
#pragma unroll
    for (int r = 0; r < rows; ++r) {
      const HalfPair pair = to_half_pair(values.of[r]);
      high.of[r] = pair.high;
      low.of[r] = pair.low;
    }
    store(high, to.high, i, j);
    store(low, to.low, i, j);
  } else {
    using T = std::remove_cvref_t<decltype(to(0, 0))>;
    Pack<T, rows> numbers;
#pragma unroll
    for (int r = 0; r < rows; ++r) numbers.of[r] = stored<T>(values.of[r]);
    store(numbers, to, i, j);
  }
}

template <int rows, class From, class To>
__global__ void __launch_bounds__(matrix_threads)
    cast_kernel(MatrixView<const From> from, float sign, To to, bool scaled,
                const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite) {
  const std::uint32_t bits = *largest_bits;
  const double s = scaled ? power_of_two(fp16_scale_exponent(float_of(bits))) : 1.0;
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) {
    *scale = s;
    if (bits >= infinity_bits) *nonfinite = 1;
  }
  const auto factor = static_cast<float>(static_cast<double>(sign) * s);
  for_each_pack<rows>(from, [&](auto values, std::int64_t i, std::int64_t j) {
#pragma unroll
    for (int r = 0; r < values.count; ++r) values.of[r] = values.of[r] * factor;
    store_numbers(values, to, i, j);
  });
}

__device__ bool is_finite(double value) {
  return fabs(value) <= largest_finite;
}
__device__ bool is_finite(Complex<double> z) {
  return is_finite(z.re) && is_finite(z.im);
}

// FP64 values are not rounded, so that no scale has to be found before.
template <int rows, class From>
__global__ void __launch_bounds__(matrix_threads)
    copy_signed_kernel(MatrixView<const From> from, double sign, MatrixView<double> to,
                       double* scale, std::int64_t* nonfinite) {
  if (blockIdx.x == 0 && blockIdx.y == 0 && threadIdx.x == 0) *scale = 1;
  bool finite = true;
  for_each_pack<rows>(from, [&](auto values, std::int64_t i, std::int64_t j) {
#pragma unroll
    for (int r = 0; r < values.count; ++r) {
      finite = finite && is_finite(values.of[r]);
      values.of[r] = values.of[r] * sign;
    }
    store_numbers(values, to, i, j);
  });
  if (!finite) *nonfinite = 1;
}

template <int rows, class From, class To>
__global__ void __launch_bounds__(matrix_threads)
    convert_kernel(MatrixView<const From> from, MatrixView<To> to) {
  for_each_pack<rows>(from, [&](const auto& values, std::int64_t i, std::int64_t j) {
    store_numbers(values, to, i, j);
  });
}

constexpr int scale_threads = 1;

__global__ void __launch_bounds__(scale_threads)
    inverse_scale_kernel(const double* l_scale, const double* u_scale, float* alpha,
                         float* low_alpha) {
  const double inverse = 1 / (*l_scale * *u_scale);
  *alpha = static_cast<float>(inverse);
  *low_alpha = static_cast<float>(inverse * 0x1p-11);
}

}  // namespace

namespace {

// in_packs() for numbers that go from `from` to `to`. A complex one is stored as a block.
template <class Start, class From, class To>
cudaError_t in_packs_of(const Start& start, const MatrixView<const From>& from, const To& to) {
  if constexpr (is_complex<From>)
    return start.template operator()<1>();
  else if constexpr (std::is_same_v<To, HalfPlanes>)
    return in_packs(start, from, to.high, to.low);
  else
    return in_packs(start, from, to);
}

// Calls `use` with an FP32 or FP64 matrix as one of T or of Complex<T>.
template <class T, class Use>
cudaError_t with_field(ConstAnyMatrix m, const Use& use) {
  return m.field == Field::complex ? use(elements_of<Complex<T>>(m)) : use(m.as<T>());
}

}  // namespace

cudaError_t largest_magnitude(cudaStream_t stream, MatrixView<const float> a, std::uint32_t* bits) {
  if (a.empty()) return cudaSuccess;
  return in_packs(
      [&]<int rows>() {
        return launch(stream, packed_grid<rows>(a.rows, a.columns), matrix_threads,
                      largest_kernel<rows>, a, bits);
      },
      a);
}

cudaError_t cast(cudaStream_t stream, ConstAnyMatrix from, float sign, AnyMatrix to,
                 const std::uint32_t* largest_bits, double* scale, std::int64_t* nonfinite) {
  const auto cast_to = [&]<class To>(const To& target) {
    return with_field<float>(from, [&]<class From>(MatrixView<const From> source) {
      return in_packs_of(
          [&]<int rows>() {
            return launch(stream, packed_grid<rows>(from.rows, from.columns), matrix_threads,
                          cast_kernel<rows, From, To>, source, sign, target,
                          needs_scale(to.precision), largest_bits, scale, nonfinite);
          },
          source, target);
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
    return in_packs(
        [&]<int rows>() {
          return launch(stream, packed_grid<rows>(from.rows, from.columns), matrix_threads,
                        convert_kernel<rows, From, To>, source, target);
        },
        source, target);
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
    return in_packs_of(
        [&]<int rows>() {
          return launch(stream, packed_grid<rows>(from.rows, from.columns), matrix_threads,
                        copy_signed_kernel<rows, From>, source, sign, to, scale, nonfinite);
        },
        source, to);
  });
}

cudaError_t inverse_scale(cudaStream_t stream, const double* l_scale, const double* u_scale,
                          float* alpha, float* low_alpha) {
  return launch(stream, 1, scale_threads, inverse_scale_kernel, l_scale, u_scale, alpha, low_alpha);
}

}  // namespace speedwell::cuda
