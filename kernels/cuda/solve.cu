// SPDX-License-Identifier: BSD-3-Clause
// The rounding inside of solves whose result will be rounded to 16 bits.
#include "cuda/columns.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/magnitude.hpp"
#include "element/rounding.hpp"

namespace speedwell::cuda {

namespace {

static_assert(matrix_threads == triangle_order);  // the threads of a block share a strip of rows

// The columns of a block of threads in split_triangle_kernel: they share a strip too.
constexpr std::int64_t group_columns = 32;
static_assert(triangle_order % group_columns == 0);

constexpr std::uint32_t infinity_bits = 0x7f800000u;
constexpr std::uint32_t infinity_half = 0x7ff00000u;  // the upper half of FP64's

// The upper half of the first number above `value`, 0 for 0; as numbers, halves are ordered as the
// values are, those of Inf and NaN are the largest.
__device__ std::uint32_t upper_half_above(double value) {
  if (value == 0) return 0;
  return (static_cast<std::uint32_t>(__builtin_bit_cast(std::uint64_t, value) >> 32) &
          0x7fffffffu) +
         1;
}

// The exponent e_s of the scale of solution s. The product of the bounds is in FP64's range, and a
// finite solution is below 2^128: no smaller exponent than -113 is needed. A strip of zeros is
// exact with any scale, and must not make the others' small.
__device__ int solution_exponent(const SolveBounds& bounds, std::int64_t s) {
  constexpr int least = -113;
  constexpr int most = 120;
  const std::uint32_t right = *bounds.right(s);
  const std::uint32_t inverse = *bounds.inverse(s);
  if (right >= infinity_bits || inverse >= infinity_half) return 0;
  const double bound = static_cast<double>(float_of(right)) *
                       __builtin_bit_cast(double, static_cast<std::uint64_t>(inverse) << 32);
  if (bound == 0) return most;
  // bound = 1.f 2^(field - 1023), so that bound 2^e has the exponent 14.
  const int field = static_cast<int>(__builtin_bit_cast(std::uint64_t, bound) >> 52);
  const int e = 14 + 1023 - field;
  return e < least ? least : e > most ? most : e;
}

// The exponent p of the scale of products of factor and solution, in the sum over the first
// `strips` strips for the one behind them.
__device__ int product_exponent(const SolveBounds& bounds, std::int64_t strips) {
  int least = solution_exponent(bounds, 0);
  for (std::int64_t t = 1; t < strips; ++t) {
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

// Without this number of blocks on a multiprocessor, the compiler takes twice as many registers for
// sm_100 as for sm_90, so that half of the threads find no room.
constexpr int split_blocks = 6;

// The three parts of an element are `step` elements apart.
__global__ void __launch_bounds__(matrix_threads, split_blocks)
    split_kernel(MatrixView<const float> b, MatrixView<Bfloat16> to, std::int64_t step,
                 std::uint32_t* largest) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  std::uint32_t mine = 0;
  if (i < b.rows) {
#pragma unroll 4
    for (std::int64_t j = blockIdx.y; j < b.columns; j += gridDim.y) {
      const float value = b(i, j);
      mine = larger_bits(mine, magnitude_bits(value));
      const Parts parts = parts_of(value);
      Bfloat16* const first = &to(i, j);
      first[0] = parts.high;
      first[step] = parts.low;
      first[2 * step] = parts.high;
    }
  }
  join_largest(mine, largest);
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

constexpr int norm_threads = 1024;
constexpr int norm_warps = norm_threads / warp_threads;

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};

// A block of threads has a strip, and a warp one column of its inverse U_ss^-1 or row of L_ss^-1 at
// a time. Either way the order of a sum depends only on the sizes.
__global__ void __launch_bounds__(norm_threads)
    norm_kernel(MatrixView<const float> lu, bool lower, SolveBounds bounds) {
  const std::int64_t s = blockIdx.x;
  const std::int64_t corner = s * triangle_order;
  const std::int64_t rest = lu.rows - corner;
  const int w = static_cast<int>(rest < triangle_order ? rest : triangle_order);
  const MatrixView<const float> inverse = lu.block(corner, corner, w, w);
  const int lane = static_cast<int>(threadIdx.x) % warp_threads;
  const std::int64_t step = lower ? lu.ld : 1;
  std::uint32_t most = 0;
  for (int line = static_cast<int>(threadIdx.x) / warp_threads; line < w; line += norm_warps) {
    double sum = lower && lane == 0 ? 1 : 0;
    const int end = lower ? line : line + 1;
    const float* entries = lower ? inverse.data + line : inverse.column(line);
#pragma unroll
    for (int k = lane; k < static_cast<int>(triangle_order); k += warp_threads)
      sum += k < end ? fabs(static_cast<double>(entries[k * step])) : 0;
    most = larger_bits(most, upper_half_above(join_warp(sum, Add{})));
  }
  if (lane == 0) atomicMax(bounds.inverse(s), most);
}

// The grid of a loop over a matrix, as a part of a grid along x.
struct Loop {
  unsigned down;
  unsigned across;

  explicit Loop(MatrixView<const float> a) {
    const dim3 grid = matrix_grid(a.rows, a.columns);
    down = grid.x;
    across = grid.y;
  }
  SPEEDWELL_ELEMENT unsigned blocks() const { return down * across; }
};

__device__ void round_solution(const SolvedStrip& strip, const SolveBounds& bounds,
                               const Loop& loop, unsigned block) {
  const std::int64_t i = std::int64_t{block % loop.down} * matrix_threads + threadIdx.x;
  if (i >= strip.x.rows) return;
  const float scale = float_power(solution_exponent(bounds, strip.s));
#pragma unroll 4
  for (std::int64_t j = block / loop.down; j < strip.x.columns; j += loop.across)
    strip.known(i, j) = to_half(strip.x(i, j) * scale);
}

__device__ void round_factor(const SolvedStrip& strip, bool lower, const SolveBounds& bounds,
                             const Loop& loop, unsigned block) {
  const std::int64_t i = std::int64_t{block % loop.down} * matrix_threads + threadIdx.x;
  const int p = product_exponent(bounds, strip.s + 1);
  if (i == 0 && block / loop.down == 0) *strip.alpha = -float_power(-p);
  if (i >= strip.a.rows) return;
  for (std::int64_t j = block / loop.down; j < strip.a.columns; j += loop.across) {
    const int e = solution_exponent(bounds, (lower ? j : i) / triangle_order);
    strip.factor(i, j) = to_half(strip.a(i, j) * float_power(p - e));
  }
}

// The first blocks of threads round the solution, those behind them the factors.
__global__ void __launch_bounds__(matrix_threads)
    round_strip_kernel(SolvedStrip strip, bool lower, SolveBounds bounds, Loop of_solution,
                       Loop of_factor) {
  const unsigned first = of_solution.blocks();
  if (blockIdx.x < first)
    round_solution(strip, bounds, of_solution, blockIdx.x);
  else
    round_factor(strip, lower, bounds, of_factor, blockIdx.x - first);
}

}  // namespace

cudaError_t split_triangle(cudaStream_t stream, MatrixView<const float> lu, Triangle triangle,
                           MatrixView<Bfloat16> parts, const SolveBounds& bounds) {
  const bool lower = triangle == Triangle::unit_lower;
  const unsigned strips = blocks(lu.rows, triangle_order);
  const dim3 grid(strips, blocks(lu.columns, group_columns));
  const cudaError_t error =
      launch(stream, grid, matrix_threads, split_triangle_kernel, lu, lower, parts, bounds);
  if (error != cudaSuccess) return error;
  return launch(stream, strips, norm_threads, norm_kernel, lu, lower, bounds);
}

cudaError_t split(cudaStream_t stream, MatrixView<const float> b, Triangle triangle, std::int64_t s,
                  const SolveBounds& bounds, MatrixView<Bfloat16> parts) {
  if (b.empty()) return cudaSuccess;
  const std::int64_t step = triangle == Triangle::unit_lower ? b.rows : b.columns * parts.ld;
  return launch(stream, matrix_grid(b.rows, b.columns), matrix_threads, split_kernel, b, parts,
                step, bounds.right(s));
}

cudaError_t round_strip(cudaStream_t stream, Triangle triangle, const SolveBounds& bounds,
                        const SolvedStrip& strip) {
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t known = (strip.s + 1) * triangle_order;
  if ((lower ? strip.a.columns : strip.a.rows) != known) return cudaErrorInvalidValue;
  if (strip.x.empty() || strip.a.empty()) return cudaSuccess;
  const Loop of_solution(strip.x);
  const Loop of_factor(strip.a);
  return launch(stream, of_solution.blocks() + of_factor.blocks(), matrix_threads,
                round_strip_kernel, strip, lower, bounds, of_solution, of_factor);
}

}  // namespace speedwell::cuda
