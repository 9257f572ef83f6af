// SPDX-License-Identifier: BSD-3-Clause
// Products with a user's matrix in twice FP64's precision. A thread's sum is a pair of numbers,
// which is normalized after some terms; see element/two_sum.hpp. The time to read the matrix bounds
// them, as it does FP64 products.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "element/two_sum.hpp"

namespace speedwell::cuda {

namespace {

constexpr int rows_a_block = 32;  // a warp reads 256 contiguous bytes of a column
constexpr int groups = 16;        // of threads of a block, each for a part of the columns
constexpr int rows_threads = rows_a_block * groups;
constexpr int column_threads = 256;
constexpr int terms_between = 8;  // normalizations

using Bits = unsigned long long;

// What a thread has summed; without initializers, so that it may lie in shared memory.
struct Sums {
  double high;
  double low;
  double of_low;
  double abs_ax;
  double abs_rows;
  Bits bits;
  Bits places;
  int terms;

  __device__ void add(double a, double x, double x_low, std::uint64_t key, std::uint64_t factor) {
    const WithError<double> product = two_product(a, x);
    const WithError<double> sum = two_sum(high, product.value);
    high = sum.value;
    low += sum.error + product.error;
    of_low += a * x_low;
    abs_ax += fabs(product.value);
    abs_rows += fabs(a);
    bits += static_cast<Bits>(__double_as_longlong(a));
    places += factor * keyed_bits(static_cast<Bits>(__double_as_longlong(a)), key);
    if (++terms % terms_between == 0) {
      const WithError<double> normal = two_sum(high, low);
      high = normal.value;
      low = normal.error;
    }
  }
  __device__ void add(const Sums& other) {
    add_pair(high, low, other.high, other.low);
    of_low += other.of_low;
    abs_ax += other.abs_ax;
    abs_rows += other.abs_rows;
    bits += other.bits;
    places += other.places;
  }
  __device__ void write(const ExtendedSums& totals, std::int64_t i) const {
    const WithError<double> normal = two_sum(high, low);
    totals.ax[i] = normal.value;
    totals.ax_low[i] = normal.error;
    totals.a_x_low[i] = of_low;
    if (totals.abs_ax) totals.abs_ax[i] = abs_ax;
    if (totals.abs_rows) totals.abs_rows[i] = abs_rows;
    if (!totals.checksum) return;
    atomicAdd(reinterpret_cast<Bits*>(&totals.checksum->bits), bits);
    atomicAdd(reinterpret_cast<Bits*>(&totals.checksum->places), places);
  }
};

__global__ void __launch_bounds__(rows_threads)
    extended_rows_kernel(MatrixView<const double> a, const double* x, const double* x_low,
                         ExtendedSums totals) {
  __shared__ Sums sums[groups][rows_a_block];
  const int r = static_cast<int>(threadIdx.x) % rows_a_block;
  const int group = static_cast<int>(threadIdx.x) / rows_a_block;
  const std::int64_t i = std::int64_t{blockIdx.x} * rows_a_block + r;
  Sums mine{};
  const PlaceKeys keys = totals.keys;
  const std::uint64_t key = totals.checksum && i < a.rows ? keys.rows[i] : 0;
  if (i < a.rows)
#pragma unroll 4
    for (std::int64_t j = group; j < a.columns; j += groups)
      mine.add(a.data[i + j * a.ld], x[j], x_low[j], key, totals.checksum ? keys.columns[j] : 0);
  sums[group][r] = mine;
  __syncthreads();
  if (group > 0 || i >= a.rows) return;
  for (int g = 1; g < groups; ++g) mine.add(sums[g][r]);
  mine.write(totals, i);
}

// A block has a column of A.
__global__ void __launch_bounds__(column_threads)
    extended_columns_kernel(MatrixView<const double> a, const double* x, const double* x_low,
                            ExtendedSums totals) {
  __shared__ Sums sums[column_threads];
  const int thread = static_cast<int>(threadIdx.x);
  const std::int64_t j = blockIdx.x;
  const double* column = a.column(j);
  Sums mine{};
  const PlaceKeys keys = totals.keys;
  const std::uint64_t factor = totals.checksum ? keys.columns[j] : 0;
#pragma unroll 4
  for (std::int64_t i = thread; i < a.rows; i += column_threads)
    mine.add(column[i], x[i], x_low[i], totals.checksum ? keys.rows[i] : 0, factor);
  for (int half = column_threads / 2; half > 0; half /= 2) {
    sums[thread] = mine;
    __syncthreads();
    if (thread < half) mine.add(sums[thread + half]);
    __syncthreads();
  }
  if (thread == 0) mine.write(totals, j);
}

}  // namespace

cudaError_t multiply_extended(cudaStream_t stream, Transpose transpose, MatrixView<const double> a,
                              const double* x, const double* x_low, const ExtendedSums& sums) {
  if ((transpose == Transpose::no ? a.rows : a.columns) == 0) return cudaSuccess;
  return transpose == Transpose::no
             ? launch(stream, blocks(a.rows, rows_a_block), rows_threads, extended_rows_kernel, a,
                      x, x_low, sums)
             : launch(stream, static_cast<unsigned>(a.columns), column_threads,
                      extended_columns_kernel, a, x, x_low, sums);
}

}  // namespace speedwell::cuda
