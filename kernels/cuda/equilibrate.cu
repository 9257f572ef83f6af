// SPDX-License-Identifier: BSD-3-Clause
// A user's matrix before the factorization: sums of its entries, its largest entries, checksums,
// and its scaling.
#include "cuda/columns.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/packs.hpp"

namespace speedwell::cuda {

namespace {

// Magnitudes compare as their bits do, as integers. Inf and NaN both count as infinity.
using Bits = unsigned long long;

__device__ Bits magnitude_bits(double value) {
  constexpr Bits infinity = 0x7ff0000000000000u;
  const Bits bits = static_cast<Bits>(__double_as_longlong(value)) & ~(Bits{1} << 63);
  return bits < infinity ? bits : infinity;
}

struct Larger {
  __device__ Bits operator()(Bits a, Bits b) const { return a > b ? a : b; }
};

// The result does not depend on the order of the atomic operations, since it is a maximum.
__global__ void __launch_bounds__(matrix_threads)
    largest_of_rows_kernel(MatrixView<const double> a, const double* scale, double* most) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= a.rows) return;
  Bits mine = 0;
#pragma unroll 4
  for (std::int64_t j = blockIdx.y; j < a.columns; j += gridDim.y)
    mine = Larger{}(mine, magnitude_bits(a(i, j) * (scale ? scale[j] : 1)));
  atomicMax(reinterpret_cast<Bits*>(most + i), mine);
}

constexpr int block_columns = 4;  // columns of a block, which reads `scale` once for all of them

// In a block that extends beyond the last column, the last one is read again, and not written.
template <class T>
__global__ void __launch_bounds__(column_threads)
    largest_of_columns_kernel(MatrixView<const T> a, const double* scale, double* most) {
  const std::int64_t first = std::int64_t{blockIdx.x} * block_columns;
  const T* column[block_columns];
  Bits mine[block_columns];
#pragma unroll
  for (int c = 0; c < block_columns; ++c) {
    column[c] = a.column(first + c < a.columns ? first + c : a.columns - 1);
    mine[c] = 0;
  }
#pragma unroll 4
  for (std::int64_t i = threadIdx.x; i < a.rows; i += column_threads) {
    const double s = scale ? scale[i] : 1;
#pragma unroll
    for (int c = 0; c < block_columns; ++c)
      mine[c] = Larger{}(mine[c], magnitude_bits(s * column[c][i]));
  }
  const Bits bits = join_block(mine, Larger{});
  const std::int64_t j = first + threadIdx.x;
  if (threadIdx.x < block_columns && j < a.columns)
    most[j] = __longlong_as_double(static_cast<long long>(bits));
}

struct Sum {
  __device__ Bits operator()(Bits a, Bits b) const { return a + b; }
};

// As largest_of_columns_kernel; the sum of all bits is added to sums[a.columns]. A sum of whole
// numbers does not depend on their order.
__global__ void __launch_bounds__(column_threads)
    checksums_of_columns_kernel(MatrixView<const double> a, const std::uint64_t* row_keys,
                                std::uint64_t* sums) {
  const std::int64_t first = std::int64_t{blockIdx.x} * block_columns;
  Bits mine[block_columns];
  Bits all_bits = 0;
#pragma unroll
  for (int c = 0; c < block_columns; ++c) {
    const bool there = first + c < a.columns;
    const double* column = a.column(there ? first + c : a.columns - 1);
    mine[c] = 0;
#pragma unroll 4
    for (std::int64_t i = threadIdx.x; i < a.rows; i += column_threads) {
      const Bits bits = static_cast<Bits>(__double_as_longlong(column[i]));
      mine[c] += keyed_bits(bits, row_keys[i]);
      if (there) all_bits += bits;
    }
  }
  const Bits of_warp = join_warp(all_bits, Sum{});
  if (threadIdx.x % warp_threads == 0)
    atomicAdd(reinterpret_cast<Bits*>(sums + a.columns), of_warp);
  const Bits places = join_block(mine, Sum{});
  const std::int64_t j = first + threadIdx.x;
  if (threadIdx.x < block_columns && j < a.columns) sums[j] = places;
}

template <int rows, class T>
__global__ void __launch_bounds__(matrix_threads)
    scale_kernel(MatrixView<const double> from, const double* row_scale, const double* column_scale,
                 MatrixView<T> to) {
  const auto scaled = [&]<int count>(const Pack<double, count>& values, std::int64_t i,
                                     std::int64_t j) {
    Pack<T, count> result;
#pragma unroll
    for (int k = 0; k < count; ++k)
      result.of[k] = static_cast<T>(((row_scale ? row_scale[i + k] : 1) * values.of[k]) *
                                    (column_scale ? column_scale[j] : 1));
    return result;
  };
  for_each_pack<rows>(from, [&](const auto& values, std::int64_t i, std::int64_t j) {
    store(scaled(values, i, j), to, i, j);
  });
}

template <int rows, class T>
__global__ void __launch_bounds__(matrix_threads) magnitudes_kernel(MatrixView<T> a) {
  for_each_pack<rows>(MatrixView<const T>(a), [&](auto values, std::int64_t i, std::int64_t j) {
#pragma unroll
    for (int k = 0; k < values.count; ++k)
      values.of[k] = values.of[k] < 0 ? -values.of[k] : values.of[k];
    store(values, a, i, j);
  });
}

__device__ bool same_place(const MatrixEntry& a, const MatrixEntry& b) {
  return a.row == b.row && a.column == b.column;
}

// The thread of the first entry for an element adds all entries for it.
__global__ void __launch_bounds__(matrix_threads)
    add_entries_kernel(const MatrixEntry* entries, std::int64_t count, MatrixView<double> a) {
  const std::int64_t first = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (first >= count) return;
  const MatrixEntry mine = entries[first];
  if (first > 0 && same_place(entries[first - 1], mine)) return;
  double sum = a(mine.row, mine.column);
  for (std::int64_t k = first; k < count && same_place(entries[k], mine); ++k)
    sum += entries[k].value;
  a(mine.row, mine.column) = sum;
}

}  // namespace

cudaError_t add_entries(cudaStream_t stream, const MatrixEntry* entries, std::int64_t count,
                        MatrixView<double> a) {
  if (count == 0) return cudaSuccess;
  return launch(stream, blocks(count, matrix_threads), matrix_threads, add_entries_kernel, entries,
                count, a);
}

cudaError_t largest_of_rows(cudaStream_t stream, MatrixView<const double> a, const double* scale,
                            double* most) {
  if (a.rows == 0) return cudaSuccess;
  const auto bytes = static_cast<std::size_t>(a.rows) * sizeof(double);
  const cudaError_t error = cudaMemsetAsync(most, 0, bytes, stream);
  if (error != cudaSuccess || a.columns == 0) return error;
  return launch(stream, matrix_grid(a.rows, a.columns), matrix_threads, largest_of_rows_kernel, a,
                scale, most);
}

cudaError_t largest_of_columns(cudaStream_t stream, ConstAnyMatrix any, const double* scale,
                               double* most) {
  if (any.columns == 0) return cudaSuccess;
  return with_storage(any, [&]<class T>(MatrixView<const T> a) {
    return launch(stream, blocks(a.columns, block_columns), column_threads,
                  largest_of_columns_kernel<T>, a, scale, most);
  });
}

cudaError_t checksums_of_columns(cudaStream_t stream, MatrixView<const double> a,
                                 const std::uint64_t* row_keys, std::uint64_t* sums) {
  const cudaError_t error = cudaMemsetAsync(sums + a.columns, 0, sizeof(*sums), stream);
  if (error != cudaSuccess || a.columns == 0) return error;
  return launch(stream, blocks(a.columns, block_columns), column_threads,
                checksums_of_columns_kernel, a, row_keys, sums);
}

cudaError_t scale(cudaStream_t stream, MatrixView<const double> from, const double* row_scale,
                  const double* column_scale, AnyMatrix to) {
  if (from.empty()) return cudaSuccess;
  return with_storage(to, [&]<class T>(MatrixView<T> target) {
    return in_packs(
        [&]<int rows>() {
          return launch(stream, packed_grid<rows>(from.rows, from.columns), matrix_threads,
                        scale_kernel<rows, T>, from, row_scale, column_scale, target);
        },
        from, target);
  });
}

cudaError_t take_magnitudes(cudaStream_t stream, AnyMatrix a) {
  if (a.empty()) return cudaSuccess;
  return with_storage(a, [&]<class T>(MatrixView<T> values) {
    return in_packs(
        [&]<int rows>() {
          return launch(stream, packed_grid<rows>(values.rows, values.columns), matrix_threads,
                        magnitudes_kernel<rows, T>, values);
        },
        values);
  });
}

}  // namespace speedwell::cuda
