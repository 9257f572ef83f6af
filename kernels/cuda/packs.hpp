// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Loops over matrices in which a thread has several neighbouring rows, which it reads and writes
/// at once, and several columns in flight: a pass then moves bytes at the rate of a copy.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/matrix_view.hpp"
#include "cuda/launch.hpp"
#include "element/element.hpp"

namespace speedwell::cuda {

/// Neighbouring elements of a column.
template <class T, int rows>
struct alignas(sizeof(T) * rows) Pack {
  static constexpr int count = rows;
  T of[rows];
};

/// Bytes of the widest access that there is.
constexpr int widest_access = 16;
/// Columns that a thread has read before it writes the first of them.
constexpr int columns_in_flight = 4;

/// The grid of for_each_pack().
template <int rows>
dim3 packed_grid(std::int64_t row_count, std::int64_t columns) {
  return matrix_grid(ceil_div(row_count, rows), ceil_div(columns, columns_in_flight));
}

/// Whether all columns begin at a multiple of so many elements.
template <int rows, class T>
bool begins_at_packs(const MatrixView<T>& a) {
  return reinterpret_cast<std::uintptr_t>(a.data) % sizeof(Pack<T, rows>) == 0 && a.ld % rows == 0;
}

/// Calls start with the rows that a thread has: as many as fit into an access of all matrices, if
/// their columns begin there.
template <class Start, class... T>
cudaError_t in_packs(const Start& start, const MatrixView<T>&... matrices) {
  constexpr int rows = widest_access / static_cast<int>(std::max({sizeof(T)...}));
  return (begins_at_packs<rows>(matrices) && ...) ? start.template operator()<rows>()
                                                  : start.template operator()<1>();
}

/// The element (i, j) and those below it <- pack.
template <int rows, class T>
__device__ void store(const Pack<T, rows>& pack, const MatrixView<T>& to, std::int64_t i,
                      std::int64_t j) {
  // The compiler takes stores of neighbours apart, and joins them again of few types.
  T* const at = to.column(j) + i;
  if constexpr (sizeof(pack) == sizeof(uint4))
    __stcg(reinterpret_cast<uint4*>(at), std::bit_cast<uint4>(pack));
  else if constexpr (sizeof(pack) == sizeof(uint2))
    __stcg(reinterpret_cast<uint2*>(at), std::bit_cast<uint2>(pack));
  else
    *reinterpret_cast<Pack<T, rows>*>(at) = pack;
}

/// Calls end(start(j), j) for the columns of a thread: several of start() before the first end(),
/// since the compiler may not move a load before a store that could be to its place. start() may be
/// called again for the last column. @pre the grid is a packed_grid()
template <class Start, class End>
__device__ void for_columns_in_flight(std::int64_t columns, const Start& start, const End& end) {
  SPEEDWELL_ELEMENT_EXPECTS(blockDim.x == matrix_threads);
  const std::int64_t step = gridDim.y;
  for (std::int64_t j = blockIdx.y; j < columns; j += columns_in_flight * step) {
    decltype(start(j)) values[columns_in_flight];
#pragma unroll
    for (int c = 0; c < columns_in_flight; ++c) {
      const std::int64_t column = j + c * step;
      values[c] = start(column < columns ? column : columns - 1);
    }
#pragma unroll
    for (int c = 0; c < columns_in_flight; ++c)
      if (j + c * step < columns) end(values[c], j + c * step);
  }
}

/// Calls use(pack, i, j) for all elements of a thread, in packs that begin at (i, j): of `rows`
/// elements, and of one where a column ends. The thread has read columns_in_flight of them before.
/// @pre the grid is packed_grid<rows>(), and rows == 1 or begins_at_packs<rows>(a)
template <int rows, class T, class Use>
__device__ void for_each_pack(const MatrixView<const T>& a, const Use& use) {
  SPEEDWELL_ELEMENT_EXPECTS(blockDim.x == matrix_threads && a.ld % rows == 0);
  const std::int64_t first = (std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x) * rows;
  const auto use_packs = [&]<int count>(std::int64_t i) {
    for_columns_in_flight(
        a.columns,
        [&](std::int64_t j) { return *reinterpret_cast<const Pack<T, count>*>(a.column(j) + i); },
        [&](const Pack<T, count>& pack, std::int64_t j) { use(pack, i, j); });
  };
  if (first + rows <= a.rows) return use_packs.template operator()<rows>(first);
  for (std::int64_t i = first; i < a.rows; ++i) use_packs.template operator()<1>(i);
}

}  // namespace speedwell::cuda
