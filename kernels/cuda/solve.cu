// SPDX-License-Identifier: BSD-3-Clause
// The rounding inside of solves whose result will be rounded to 16 bits.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/magnitude.hpp"
#include "element/rounding.hpp"

namespace lupine::cuda {

namespace {

static_assert(matrix_threads == triangle_order);  // the threads of a block share a strip of rows

// The columns of a block of threads in split_triangle_kernel: they share a strip too.
constexpr std::int64_t group_columns = 32;
static_assert(triangle_order % group_columns == 0);

// The exponent e_s of the scale of solution s.
__device__ int solution_exponent(const SolveBounds& bounds, std::int64_t s) {
  return fp16_scale_exponent(float_of(*bounds.solution(s)));
}

// The exponent p of the scale of products of factor and solution, in the sum over the first
// `strips` strips for the one behind them.
__device__ int product_exponent(const SolveBounds& bounds, std::int64_t strips) {
  int least = 120;
  for (std::int64_t t = 0; t < strips; ++t) {
    const int e = solution_exponent(bounds, t);
    least = e < least ? e : least;
  }
  const int p = fp16_scale_exponent(float_of(*bounds.factor(strips))) + least;
  return p < -126 ? -126 : p > 126 ? 126 : p;
}

__device__ float float_power(int e) {
  return static_cast<float>(power_of_two(e));
}

struct Parts {
  Bfloat16 high;
  Bfloat16 low;
};

__device__ Parts parts_of(float value) {
  const Bfloat16 high = to_bfloat16(value);
  return {high, to_bfloat16(value - to_float(high))};
}

// Places for three parts of a matrix.
struct Stack {
  MatrixView<Bfloat16> first;
  MatrixView<Bfloat16> second;
  MatrixView<Bfloat16> third;
};

__global__ void __launch_bounds__(matrix_threads)
    split_kernel(MatrixView<const float> b, Stack to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= b.rows) return;
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < b.columns; j += gridDim.y) {
    const Parts parts = parts_of(b(i, j));
    to.first(i, j) = parts.high;
    to.second(i, j) = parts.low;
    to.third(i, j) = parts.high;
  }
}

// A block of threads works on a strip of rows and group_columns columns: on part of an inverse, or
// of a block beside the diagonal, of which only the largest magnitude is wanted.
__global__ void __launch_bounds__(matrix_threads)
    split_triangle_kernel(MatrixView<const float> lu, bool lower, MatrixView<Bfloat16> to,
                          SolveBounds bounds) {
  const std::int64_t begin = blockIdx.y * group_columns;
  const std::int64_t down = blockIdx.x;
  const std::int64_t across = begin / triangle_order;
  if (lower ? down < across : down > across) return;
  const std::int64_t corner = down * triangle_order;
  const std::int64_t i = corner + threadIdx.x;
  const std::int64_t rest = lu.rows - corner;
  const std::int64_t w = rest < triangle_order ? rest : triangle_order;
  std::uint32_t mine = 0;
  for (std::int64_t j = begin; i < lu.rows && j < begin + group_columns && j < lu.columns; ++j) {
    const bool inside = lower ? i > j : i <= j;
    const float value = inside ? lu(i, j) : lower && i == j ? 1.0f : 0.0f;
    mine = larger_bits(mine, magnitude_bits(value));
    if (down != across) continue;
    const Parts parts = parts_of(value);
    const std::int64_t row = lower ? i : i - corner;
    const std::int64_t column = lower ? j - corner : j;
    const std::int64_t by_rows = lower ? 0 : w;
    const std::int64_t by_columns = lower ? w : 0;
    to(row, column) = parts.high;
    to(row + by_rows, column + by_columns) = parts.high;
    to(row + 2 * by_rows, column + 2 * by_columns) = parts.low;
  }
  if (down != across) join_largest(mine, bounds.factor(lower ? down : across));
}

__global__ void __launch_bounds__(matrix_threads)
    round_solution_kernel(MatrixView<const float> x, std::int64_t s, SolveBounds bounds,
                          MatrixView<Half> to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= x.rows) return;
  const float factor = float_power(solution_exponent(bounds, s));
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < x.columns; j += gridDim.y)
    to(i, j) = to_half(x(i, j) * factor);
}

__global__ void __launch_bounds__(matrix_threads)
    round_factor_kernel(MatrixView<const float> a, bool lower, SolveBounds bounds,
                        MatrixView<Half> to, float* alpha) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  const int p = product_exponent(bounds, (lower ? a.columns : a.rows) / triangle_order);
  if (i == 0 && blockIdx.y == 0) *alpha = -float_power(-p);
  if (i >= a.rows) return;
  for (std::int64_t j = blockIdx.y; j < a.columns; j += gridDim.y) {
    const int e = solution_exponent(bounds, (lower ? j : i) / triangle_order);
    to(i, j) = to_half(a(i, j) * float_power(p - e));
  }
}

}  // namespace

cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> lu, Triangle triangle,
                           MatrixView<Bfloat16> parts, const SolveBounds& bounds) {
  const dim3 grid(blocks(lu.rows, triangle_order), blocks(lu.columns, group_columns));
  return launch(stream, grid, matrix_threads, split_triangle_kernel, lu,
                triangle == Triangle::unit_lower, parts, bounds);
}

cudaError_t split(cudaStream_t stream, MatrixView<const float> b, Triangle triangle,
                  MatrixView<Bfloat16> parts) {
  if (b.empty()) return cudaSuccess;
  const auto part = [&](std::int64_t k) {
    return triangle == Triangle::unit_lower ? parts.block(k * b.rows, 0, b.rows, b.columns)
                                            : parts.block(0, k * b.columns, b.rows, b.columns);
  };
  return launch(stream, matrix_grid(b.rows, b.columns), matrix_threads, split_kernel, b,
                Stack{part(0), part(1), part(2)});
}

cudaError_t round_solution(cudaStream_t stream, MatrixView<const float> x, std::int64_t s,
                           const SolveBounds& bounds, MatrixView<Half> to) {
  if (x.empty()) return cudaSuccess;
  return launch(stream, matrix_grid(x.rows, x.columns), matrix_threads, round_solution_kernel, x, s,
                bounds, to);
}

cudaError_t round_factor(cudaStream_t stream, MatrixView<const float> a, Triangle triangle,
                         const SolveBounds& bounds, MatrixView<Half> to, float* alpha) {
  if (a.empty()) return cudaSuccess;
  return launch(stream, matrix_grid(a.rows, a.columns), matrix_threads, round_factor_kernel, a,
                triangle == Triangle::unit_lower, bounds, to, alpha);
}

}  // namespace lupine::cuda
