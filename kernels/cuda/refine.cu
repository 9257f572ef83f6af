// SPDX-License-Identifier: BSD-3-Clause
// Operations with FP64 vectors and the factors or a user's matrix. The time to read the matrix
// bounds them.
#include "cuda/columns.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"

namespace speedwell::cuda {

namespace {

constexpr int rows_a_block = 32;  // a warp reads 128 or 256 contiguous bytes of a column
// Groups of threads of a block, each for a part of the columns: few groups for matrices with many
// rows, many for those with few rows, so that enough loads are in flight to keep the memory busy.
constexpr int few_groups = 8;
constexpr int many_groups = 32;
constexpr std::int64_t many_rows = 32768;
constexpr int unroll = 8;  // loads that a thread has in flight

// Adds the groups' parts of each row's sum. Group 0 gets the results.
template <int groups>
__device__ double sum_of_groups(double sum) {
  __shared__ double sums[groups][rows_a_block];
  const int r = static_cast<int>(threadIdx.x) % rows_a_block;
  const int group = static_cast<int>(threadIdx.x) / rows_a_block;
  __syncthreads();  // until the sums of the previous call have been read
  sums[group][r] = sum;
  __syncthreads();
  if (group > 0) return sum;
  for (int g = 1; g < groups; ++g) sum += sums[g][r];
  return sum;
}

struct Add {
  __device__ double operator()(double a, double b) const { return a + b; }
};

using Bits = unsigned long long;

struct AddBits {
  __device__ Bits operator()(Bits a, Bits b) const { return a + b; }
};

// *checksum += the sums of all threads of a block of whole warps. Every thread calls it. A sum of
// whole numbers does not depend on their order.
__device__ void add_checksum(Bits bits, Bits places, MatrixChecksum* checksum) {
  const Bits bits_of_warp = join_warp(bits, AddBits{});
  const Bits places_of_warp = join_warp(places, AddBits{});
  if (threadIdx.x % warp_threads != 0) return;
  atomicAdd(reinterpret_cast<Bits*>(&checksum->bits), bits_of_warp);
  atomicAdd(reinterpret_cast<Bits*>(&checksum->places), places_of_warp);
}

__device__ Bits bits_of(double value) {
  return static_cast<Bits>(__double_as_longlong(value));
}

template <int groups>
constexpr int rows_threads = rows_a_block* groups;

// totals.ax <- A x or, if `subtract`, totals.ax <- totals.ax - A x; in the same pass, the sums of
// magnitudes and the checksum.
template <int groups, bool subtract, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
__global__ void __launch_bounds__(rows_threads<groups>)
    rows_kernel(MatrixView<const T> a, const double* x, PassSums totals) {
  const int r = static_cast<int>(threadIdx.x) % rows_a_block;
  const int group = static_cast<int>(threadIdx.x) / rows_a_block;
  const std::int64_t i = std::int64_t{blockIdx.x} * rows_a_block + r;
  double ax = 0;
  double abs_rows = 0;
  double abs_ax = 0;
  Bits bits = 0;
  Bits places = 0;
  if (i < a.rows) {
    const T* row = a.data + i;
    const std::uint64_t key = with_checksum ? totals.keys.rows[i] : 0;
#pragma unroll unroll
    for (std::int64_t j = group; j < a.columns; j += groups) {
      const auto value = static_cast<double>(row[j * a.ld]);
      ax = fma(value, x[j], ax);
      if (with_checksum) {
        bits += bits_of(value);
        places += totals.keys.columns[j] * keyed_bits(bits_of(value), key);
      }
      if (with_rows) abs_rows += fabs(value);
      if (with_abs_ax) abs_ax = fma(fabs(value), fabs(x[j]), abs_ax);
    }
  }
  if (with_checksum) add_checksum(bits, places, totals.checksum);
  ax = sum_of_groups<groups>(ax);
  if (with_rows) abs_rows = sum_of_groups<groups>(abs_rows);
  if (with_abs_ax) abs_ax = sum_of_groups<groups>(abs_ax);
  if (group > 0 || i >= a.rows) return;
  totals.ax[i] = subtract ? totals.ax[i] - ax : ax;
  if (with_rows) totals.abs_rows[i] = abs_rows;
  if (with_abs_ax) totals.abs_ax[i] = abs_ax;
}

template <bool subtract, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
cudaError_t launch_rows(cudaStream_t stream, MatrixView<const T> a, const double* x,
                        const PassSums& totals) {
  const auto with = [&]<int groups>() {
    return launch(stream, blocks(a.rows, rows_a_block), rows_threads<groups>,
                  rows_kernel<groups, subtract, with_rows, with_abs_ax, with_checksum, T>, a, x,
                  totals);
  };
  return a.rows >= many_rows ? with.template operator()<few_groups>()
                             : with.template operator()<many_groups>();
}

// The columns of a block, which reads x once for all of them. A matrix with less than many_columns
// has one column in a block, so that all of the GPU has work.
constexpr int block_columns = 4;
constexpr std::int64_t many_columns = 512;

// totals.ax <- A^T x or, if `subtract`, totals.ax <- totals.ax - A^T x; in the same pass, the sums
// of magnitudes and the checksum. In a block that extends beyond the last column, the last one is
// read again, and not written.
template <int columns, bool subtract, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
__global__ void __launch_bounds__(column_threads)
    columns_kernel(MatrixView<const T> a, const double* x, PassSums totals) {
  const std::int64_t first = std::int64_t{blockIdx.x} * columns;
  const T* column[columns];
  double ax[columns] = {};
  double abs_rows[columns] = {};
  double abs_ax[columns] = {};
  Bits bits = 0;
  Bits places[columns] = {};
#pragma unroll
  for (int c = 0; c < columns; ++c)
    column[c] = a.column(first + c < a.columns ? first + c : a.columns - 1);
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < a.rows; i += column_threads) {
    const double xi = x[i];
    const std::uint64_t key = with_checksum ? totals.keys.rows[i] : 0;
#pragma unroll
    for (int c = 0; c < columns; ++c) {
      const auto value = static_cast<double>(column[c][i]);
      ax[c] = fma(value, xi, ax[c]);
      if (with_checksum && first + c < a.columns) {
        bits += bits_of(value);
        places[c] += keyed_bits(bits_of(value), key);
      }
      if (with_rows) abs_rows[c] += fabs(value);
      if (with_abs_ax) abs_ax[c] = fma(fabs(value), fabs(xi), abs_ax[c]);
    }
  }
  if (with_checksum) {
    Bits sum = 0;
#pragma unroll
    for (int c = 0; c < columns; ++c)
      if (first + c < a.columns) sum += totals.keys.columns[first + c] * places[c];
    add_checksum(bits, sum, totals.checksum);
  }
  const std::int64_t j = first + threadIdx.x;
  const bool writes = threadIdx.x < columns && j < a.columns;
  const double sum = join_block(ax, Add{});
  if (writes) totals.ax[j] = subtract ? totals.ax[j] - sum : sum;
  if (with_rows) {
    __syncthreads();  // until the sums of the previous call have been read
    const double of_rows = join_block(abs_rows, Add{});
    if (writes) totals.abs_rows[j] = of_rows;
  }
  if (with_abs_ax) {
    __syncthreads();
    const double of_ax = join_block(abs_ax, Add{});
    if (writes) totals.abs_ax[j] = of_ax;
  }
}

template <bool subtract, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
cudaError_t launch_columns(cudaStream_t stream, MatrixView<const T> a, const double* x,
                           const PassSums& totals) {
  const bool many = a.columns >= many_columns;
  return launch(
      stream, blocks(a.columns, many ? block_columns : 1), column_threads,
      many ? columns_kernel<block_columns, subtract, with_rows, with_abs_ax, with_checksum, T>
           : columns_kernel<1, subtract, with_rows, with_abs_ax, with_checksum, T>,
      a, x, totals);
}

// One pass over A or A^T.
template <bool with_rows, bool with_abs_ax, bool with_checksum>
cudaError_t launch_pass(cudaStream_t stream, Transpose transpose, MatrixView<const double> a,
                        const double* x, const PassSums& totals) {
  return transpose == Transpose::no
             ? launch_rows<false, with_rows, with_abs_ax, with_checksum>(stream, a, x, totals)
             : launch_columns<false, with_rows, with_abs_ax, with_checksum>(stream, a, x, totals);
}

constexpr int triangle_rows = static_cast<int>(triangle_order);

// A block of substitute_kernel has part_rows rows of y. Its threads share the work twice: by a row
// of y and one of the row_groups of x, then by a row of the next block of unknowns and one of the
// inverse_groups of y. Either way a thread has `batch` factors.
constexpr int part_rows = static_cast<int>(part_order);
constexpr int part_threads = 1024;
constexpr int row_groups = part_threads / part_rows;
constexpr int inverse_groups = part_threads / triangle_rows;
constexpr int batch = triangle_rows / row_groups;
static_assert(part_rows == rows_a_block && batch * row_groups == triangle_rows &&
              batch * inverse_groups == part_rows);

// T_ij of a triangle, 0 outside of it and of the matrix.
__device__ float in_triangle(MatrixView<const float> a, Triangle triangle, int i, int j) {
  const bool lower = triangle == Triangle::unit_lower;
  const bool stored = i < a.rows && j < a.columns && (lower ? j < i : j >= i);
  return stored ? a(i, j) : lower && j == i ? 1.0f : 0.0f;
}

// Entry i of a block of w unknowns, the sum of its parts.
__device__ double sum_of_parts(const double* parts, int w, int i) {
  constexpr int most = triangle_rows / part_rows;
  double part[most];
#pragma unroll
  for (int p = 0; p < most; ++p) part[p] = p * part_rows < w ? parts[p * triangle_rows + i] : 0;
  double sum = 0;
#pragma unroll
  for (int p = 0; p < most; ++p) sum += part[p];
  return sum;
}

// All that a block reads is loaded before its first barrier, so that it waits for memory once.
__global__ void __launch_bounds__(part_threads) substitute_kernel(SubstitutionStep step) {
  __shared__ double x[triangle_rows];
  __shared__ double y[part_rows];
  __shared__ double sums[inverse_groups][triangle_rows];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t first = std::int64_t{blockIdx.x} * part_rows;
  const int w = static_cast<int>(step.a.columns);
  const int r = thread % part_rows;
  const int group = thread / part_rows;
  const std::int64_t i = first + r;
  const bool has_row = i < step.a.rows;
  float a[batch];
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    const int j = group + k * row_groups;
    a[k] = has_row && j < w ? step.a(i, j) : 0;
  }

  const std::int64_t next = first - step.next_row;  // of this block's rows in the next unknowns
  const bool is_next = next >= 0 && next < step.next.rows;
  const int row = thread % triangle_rows;
  const int of_y = thread / triangle_rows * batch;
  const int column = static_cast<int>(next) + of_y;
  float inverse[batch];
#pragma unroll
  for (int k = 0; k < batch; ++k)
    inverse[k] = is_next ? in_triangle(step.next, step.triangle, row, column + k) : 0;

  const double before = group == 0 && has_row ? step.y[i] : 0;
  if (thread < w) {
    x[thread] = sum_of_parts(step.parts, w, thread);
    if (blockIdx.x == 0) step.x[thread] = x[thread];
  }
  __syncthreads();

  double ax = 0;
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    const int j = group + k * row_groups;
    if (j < w) ax = fma(static_cast<double>(a[k]), x[j], ax);
  }
  ax = sum_of_groups<row_groups>(ax);
  if (group == 0) {
    y[r] = before - ax;
    if (has_row && w > 0) step.y[i] = y[r];
  }
  if (!is_next) return;
  __syncthreads();

  double sum = 0;
#pragma unroll
  for (int k = 0; k < batch; ++k) {
    const bool inside = step.triangle == Triangle::upper ? column + k >= row : column + k <= row;
    if (inside) sum = fma(static_cast<double>(inverse[k]), y[of_y + k], sum);
  }
  sums[of_y / batch][row] = sum;
  __syncthreads();
  if (of_y > 0) return;
  for (int g = 1; g < inverse_groups; ++g) sum += sums[g][row];
  step.next_parts[next / part_rows * triangle_order + row] = sum;
}

constexpr int triangle_groups = 4;
constexpr int triangle_threads = triangle_rows * triangle_groups;

// x <- T^T x, by one block of threads, in which a warp takes one column at a time.
__global__ void __launch_bounds__(triangle_threads)
    transposed_triangle_kernel(MatrixView<const float> a, Triangle triangle, double* x) {
  constexpr int warps = triangle_threads / warp_threads;
  __shared__ double before[triangle_rows];
  const int thread = static_cast<int>(threadIdx.x);
  const int lane = thread % warp_threads;
  const int n = static_cast<int>(a.rows);
  const bool lower = triangle == Triangle::unit_lower;
  if (thread < n) before[thread] = x[thread];
  __syncthreads();
  for (int j = thread / warp_threads; j < n; j += warps) {
    double sum = lower && lane == 0 ? before[j] : 0;
#pragma unroll unroll
    for (int i = lane; i < n; i += warp_threads) {
      const double value = static_cast<double>(a(i, j));
      if (lower ? i > j : i <= j) sum = fma(value, before[i], sum);
    }
    sum = join_warp(sum, Add{});
    if (lane == 0) x[j] = sum;
  }
}

template <class T>
__global__ void __launch_bounds__(matrix_threads)
    add_kernel(MatrixView<const T> x, MatrixView<T> y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= y.rows) return;
  for (std::int64_t j = blockIdx.y; j < y.columns; j += gridDim.y) y(i, j) += x(i, j);
}

// Complex vectors: in planes two columns of m rows, in pairs two columns of 2 m rows. A thread has
// row i of the planes; along y, every gridDim.y-th vector.
template <bool adds, class T>
__global__ void __launch_bounds__(matrix_threads)
    from_pairs_kernel(bool sums, MatrixView<const T> pairs, MatrixView<T> planes) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= planes.rows) return;
  for (std::int64_t k = 2 * std::int64_t{blockIdx.y}; k < planes.columns;
       k += 2 * std::int64_t{gridDim.y}) {
    T re = pairs(2 * i, k);
    T im = pairs(2 * i + 1, k);
    if (sums) {  // i (p, q) = (-q, p)
      re -= pairs(2 * i + 1, k + 1);
      im += pairs(2 * i, k + 1);
    }
    planes(i, k) = adds ? planes(i, k) + re : re;
    planes(i, k + 1) = adds ? planes(i, k + 1) + im : im;
  }
}

template <class T>
__global__ void __launch_bounds__(matrix_threads)
    spread_pairs_kernel(MatrixView<const T> planes, MatrixView<T> pairs) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= planes.rows) return;
  for (std::int64_t k = 2 * std::int64_t{blockIdx.y}; k < planes.columns;
       k += 2 * std::int64_t{gridDim.y}) {
    const T re = planes(i, k);
    const T im = planes(i, k + 1);
    pairs(2 * i, k) = re;
    pairs(2 * i + 1, k) = im;
    pairs(2 * i, k + 1) = im;
    pairs(2 * i + 1, k + 1) = -re;
  }
}

template <bool adds>
cudaError_t launch_from_pairs(cudaStream_t stream, bool sums, ConstAnyMatrix pairs,
                              AnyMatrix planes) {
  if (planes.empty()) return cudaSuccess;
  return with_storage(planes, [&]<class T>(MatrixView<T> to) {
    return launch(stream, matrix_grid(to.rows, to.columns / 2), matrix_threads,
                  from_pairs_kernel<adds, T>, sums, pairs.as<T>(), to);
  });
}

}  // namespace

cudaError_t subtract_product(cudaStream_t stream, Transpose transpose, ConstAnyMatrix a,
                             const double* x, double* y) {
  if (a.empty()) return cudaSuccess;
  PassSums sums;
  sums.ax = y;
  return with_storage(a, [&]<class T>(MatrixView<T> values) {
    using Value = std::remove_const_t<T>;
    if (transpose == Transpose::no)
      return launch_rows<true, false, false, false, Value>(stream, values, x, sums);
    return launch_columns<true, false, false, false, Value>(stream, values, x, sums);
  });
}

cudaError_t substitute(cudaStream_t stream, const SubstitutionStep& step) {
  const bool fits = step.a.columns <= triangle_order && step.next.rows == step.next.columns &&
                    step.next.rows <= triangle_order && step.next_row % part_order == 0 &&
                    step.next_row >= 0 && step.next_row + step.next.rows <= step.a.rows;
  if (!fits) return cudaErrorInvalidValue;
  if (step.a.rows == 0 && step.a.columns == 0) return cudaSuccess;
  return launch(stream, blocks(step.a.rows, part_rows), part_threads, substitute_kernel, step);
}

cudaError_t multiply_transposed_triangle(cudaStream_t stream, MatrixView<const float> a,
                                         Triangle triangle, double* x) {
  if (a.empty()) return cudaSuccess;
  if (a.rows > triangle_order || a.columns != a.rows) return cudaErrorInvalidValue;
  return launch(stream, 1, triangle_threads, transposed_triangle_kernel, a, triangle, x);
}

cudaError_t multiply(cudaStream_t stream, Transpose transpose, MatrixView<const double> a,
                     const double* x, const PassSums& sums) {
  if ((transpose == Transpose::no ? a.rows : a.columns) == 0) return cudaSuccess;
  const auto pass = [&]<bool rows, bool abs_ax>() {
    return (sums.checksum ? launch_pass<rows, abs_ax, true>
                          : launch_pass<rows, abs_ax, false>)(stream, transpose, a, x, sums);
  };
  if (sums.abs_rows && sums.abs_ax) return pass.template operator()<true, true>();
  if (sums.abs_ax) return pass.template operator()<false, true>();
  if (sums.abs_rows) return pass.template operator()<true, false>();
  return pass.template operator()<false, false>();
}

cudaError_t add(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y) {
  if (y.empty()) return cudaSuccess;
  return with_storage(y, [&]<class T>(MatrixView<T> to) {
    return launch(stream, matrix_grid(to.rows, to.columns), matrix_threads, add_kernel<T>,
                  x.as<T>(), to);
  });
}

cudaError_t add_pairs(cudaStream_t stream, bool sums, ConstAnyMatrix x, AnyMatrix y) {
  return launch_from_pairs<true>(stream, sums, x, y);
}

cudaError_t gather_pairs(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y) {
  return launch_from_pairs<false>(stream, false, x, y);
}

cudaError_t spread_pairs(cudaStream_t stream, ConstAnyMatrix x, AnyMatrix y) {
  if (x.empty()) return cudaSuccess;
  return with_storage(y, [&]<class T>(MatrixView<T> to) {
    return launch(stream, matrix_grid(x.rows, x.columns / 2), matrix_threads,
                  spread_pairs_kernel<T>, x.as<T>(), to);
  });
}

}  // namespace speedwell::cuda
