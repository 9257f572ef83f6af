// SPDX-License-Identifier: BSD-3-Clause
// Panels with partial pivoting: the search for a pivot, the elimination of a column, and the moves
// of rows. Entries are real or complex.
//
// Lower bounds of their times on an H200 (4.3 TB/s of HBM, some 5 us for two dependent launches):
// eliminating a column in c columns of m rows moves 2 c m numbers, 4 us for 130000 rows of 8 FP64
// columns. Exchanging k rows of w columns moves 2 k w numbers, in sectors of 32 bytes if the rows
// are not neighbours.
#include "cuda/candidate.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/packs.hpp"

namespace speedwell::cuda {

namespace {

// The pivot -------------------------------------------------------------------------------------

constexpr int search_threads = 256;
constexpr int search_warps = search_threads / warp_lanes;

// The best candidate of a block; thread 0 gets it.
__device__ Candidate best_of_block(Candidate mine) {
  __shared__ double magnitudes[search_warps];
  __shared__ std::int64_t rows[search_warps];
  const int lane = static_cast<int>(threadIdx.x) % warp_lanes;
  const int warp = static_cast<int>(threadIdx.x) / warp_lanes;
  mine = best_of_warp(mine);
  if (lane == 0) {
    magnitudes[warp] = mine.magnitude;
    rows[warp] = mine.row;
  }
  __syncthreads();
  if (warp > 0) return mine;
  return best_of_warp(lane < search_warps ? Candidate{magnitudes[lane], rows[lane]}
                                          : Candidate{-1, -1});
}

// Each block writes its best candidate. The block that finishes last compares all of them. It also
// makes the counter wrap around to 0, for the next search.
__device__ void find_best(const Candidate& mine, SearchSpace* space, Found found) {
  __shared__ bool last;
  const Candidate here = best_of_block(mine);
  if (threadIdx.x == 0) {
    space->magnitudes[blockIdx.x] = here.magnitude;
    space->rows[blockIdx.x] = here.row;
    __threadfence();
    last = atomicInc(&space->arrived, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  const volatile double* magnitudes = space->magnitudes;
  const volatile std::int64_t* rows = space->rows;
  Candidate best{-1, -1};
  for (unsigned block = threadIdx.x; block < gridDim.x; block += search_threads)
    best = better(best, {magnitudes[block], rows[block]});
  best = best_of_block(best);
  if (threadIdx.x > 0) return;
  *found.magnitude = best.magnitude;
  *found.row = best.row;
}

// A grid with a thread for each row; where that exceeds most_blocks, a thread has several rows.
dim3 search_grid(std::int64_t rows) {
  return std::min<unsigned>(blocks(rows, search_threads), SearchSpace::most_blocks);
}

template <class T>
__global__ void __launch_bounds__(search_threads)
    search_kernel(MatrixView<const T> column, SearchSpace* space, Found found) {
  Candidate best{-1, -1};
  const std::int64_t step = std::int64_t{gridDim.x} * search_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * search_threads + threadIdx.x; i < column.rows;
       i += step)
    best = better(best, candidate(column(i, 0), i));
  find_best(best, space, found);
}

// Columns that are loaded before the first of them is written; two blocks of threads must find
// registers for them on a multiprocessor.
template <class T>
constexpr int batch = sizeof(T) > sizeof(double) ? 4 : 8;

// Eliminates in row i and returns its new entry in column 1. All threads of a warp read the same
// element of p at a time, so that one load serves them.
template <class T>
__device__ T eliminate_row(MatrixView<const T> p, const Divisor<T>& divisor, MatrixView<T> rows,
                           std::int64_t i) {
  T factor{};
  T second{};
  for (std::int64_t j = 0; j < rows.columns; j += batch<T>) {
    T old[batch<T>];
    T pivot[batch<T>];
#pragma unroll
    for (int k = 0; k < batch<T>; ++k) {
      old[k] = j + k < rows.columns ? rows(i, j + k) : T{};
      pivot[k] = j + k < rows.columns ? p(0, j + k) : T{};
    }
    if (j == 0) factor = divisor.quotient(old[0]);
#pragma unroll
    for (int k = 0; k < batch<T>; ++k) {
      const T value = j + k == 0 ? factor : minus_product(old[k], factor, pivot[k]);
      if (j + k == 1) second = value;
      if (j + k < rows.columns) rows(i, j + k) = value;
    }
  }
  return second;
}

template <class T>
__global__ void __launch_bounds__(search_threads)
    eliminate_kernel(MatrixView<const T> p, MatrixView<T> rows, SearchSpace* space, Found next) {
  const bool searches = rows.columns > 1;
  const Divisor<T> divisor(p(0, 0));
  Candidate best{-1, -1};
  const std::int64_t step = std::int64_t{gridDim.x} * search_threads;
  for (std::int64_t i = std::int64_t{blockIdx.x} * search_threads + threadIdx.x; i < rows.rows;
       i += step) {
    const T second = !divisor.is_zero() ? eliminate_row(p, divisor, rows, i)
                     : searches         ? rows(i, 1)
                                        : T{};
    best = better(best, candidate(second, i));
  }
  if (searches) find_best(best, space, next);
}

constexpr int take_threads =
    64;  // one for each column; few in a block, so that many multiprocessors load at a time

// The values of an offer lie behind its candidate.
template <class T>
__global__ void __launch_bounds__(take_threads)
    offer_kernel(MatrixView<const T> rows, OfferedRows of, FoundPivot found, Candidate* offer) {
  const std::int64_t j = std::int64_t{blockIdx.x} * take_threads + threadIdx.x;
  const std::int64_t row = *found.row;
  if (j == 0) {
    offer->magnitude = *found.magnitude;
    offer->row = row < of.shared ? (row < 0 ? row : of.begin + row)
                                 : of.rows.global(of.below + (row - of.shared));
  }
  if (row >= 0 && j < rows.columns) reinterpret_cast<T*>(offer + 1)[j] = rows(row, j);
}

__device__ const Candidate* offer_of(const Offers& offers, int rank) {
  return reinterpret_cast<const Candidate*>(offers.data + rank * offers.bytes);
}

// Exchanges row 0 with the pivot's row. A thread reads and writes one column, so no thread waits
// for another one.
template <class T>
__global__ void __launch_bounds__(take_threads)
    take_kernel(MatrixView<T> rows, std::int64_t first, FoundPivot found, Offers offers,
                std::int64_t* pivot, std::int64_t* bad_pivot) {
  const std::int64_t j = std::int64_t{blockIdx.x} * take_threads + threadIdx.x;
  Candidate taken{*found.magnitude, *found.row};
  std::int64_t place = taken.row;  // the pivot's place in `rows`; -1: on another rank
  const T* values = nullptr;
  if (offers.data == nullptr) {
    taken.row += first;
  } else {
    int best = 0;
    taken = *offer_of(offers, 0);
    for (int rank = 1; rank < offers.count; ++rank) {
      const Candidate other = *offer_of(offers, rank);
      if (!is_better(other, taken)) continue;
      best = rank;
      taken = other;
    }
    values = reinterpret_cast<const T*>(offer_of(offers, best) + 1);
    if (best != offers.mine) place = taken.row - first < offers.shared ? taken.row - first : -1;
  }
  if (j == 0) {
    *pivot = taken.row;
    if (!(taken.magnitude > 0 && taken.magnitude <= largest_finite) && *bad_pivot < 0)
      *bad_pivot = first;
  }
  if (taken.row < 0 || j >= rows.columns || (values == nullptr && place <= 0)) return;
  const T value = values == nullptr ? rows(place, j) : values[j];
  if (place > 0) rows(place, j) = rows(0, j);
  rows(0, j) = value;
}

// Rows ------------------------------------------------------------------------------------------

constexpr int permute_threads = 512;
// Blocks that keep the memory busy, and elements for each of their threads, where there are so
// many.
constexpr std::int64_t permute_blocks = 512;
constexpr int in_flight = 4;

template <class T>
constexpr std::int64_t room = permuted_bytes / static_cast<std::int64_t>(sizeof(T));

// A block has `group` columns. It reads all elements that move in them before it writes one, each
// thread several at once: the compiler may not move a load before a store that could be to its
// place.
template <class T>
__global__ void __launch_bounds__(permute_threads)
    permute_kernel(const std::int64_t* from, const std::int64_t* to, int count, int group,
                   MatrixView<T> a) {
  __shared__ T moving[room<T>];
  const std::int64_t first = std::int64_t{blockIdx.x} * group;
  const std::int64_t rest = a.columns - first;
  const int items = count * static_cast<int>(rest < group ? rest : group);
  const auto in_batches = [&](const auto& start, const auto& end) {
    for (int t = static_cast<int>(threadIdx.x); t < items; t += in_flight * permute_threads) {
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (t + k * permute_threads < items) start(t + k * permute_threads, k);
#pragma unroll
      for (int k = 0; k < in_flight; ++k)
        if (t + k * permute_threads < items) end(t + k * permute_threads, k);
    }
  };
  T values[in_flight]{};
  in_batches([&](int t, int k) { values[k] = a(from[t % count], first + t / count); },
             [&](int t, int k) { moving[t] = values[k]; });
  __syncthreads();
  std::int64_t rows[in_flight]{};
  in_batches([&](int t, int k) { rows[k] = to[t % count]; },
             [&](int t, int k) { a(rows[k], first + t / count) = moving[t]; });
}

// Row i of `from`, or row from_rows[i], goes to row i of `to`, or to row to_rows[i].
template <class T>
__global__ void __launch_bounds__(matrix_threads)
    copy_rows_kernel(std::int64_t count, const std::int64_t* from_rows, MatrixView<const T> from,
                     const std::int64_t* to_rows, MatrixView<T> to) {
  const std::int64_t i = std::int64_t{blockIdx.x} * matrix_threads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t source = from_rows != nullptr ? from_rows[i] : i;
  const std::int64_t target = to_rows != nullptr ? to_rows[i] : i;
  for_columns_in_flight(
      to.columns, [&](std::int64_t j) { return from(source, j); },
      [&](const T& value, std::int64_t j) { to(target, j) = value; });
}

template <class T>
cudaError_t copy_rows(cudaStream_t stream, std::int64_t count, const std::int64_t* from_rows,
                      MatrixView<const T> from, const std::int64_t* to_rows, MatrixView<T> to) {
  return launch(stream, packed_grid<1>(count, to.columns), matrix_threads, copy_rows_kernel<T>,
                count, from_rows, from, to_rows, to);
}

}  // namespace

cudaError_t find_pivot(cudaStream_t stream, ConstAnyMatrix column, SearchSpace* space,
                       Found found) {
  return with_scalars(column, [&]<class T>(MatrixView<const T> values) {
    return launch(stream, search_grid(values.rows), search_threads, search_kernel<T>, values, space,
                  found);
  });
}

cudaError_t offer_pivot(cudaStream_t stream, ConstAnyMatrix rows, const OfferedRows& of,
                        FoundPivot found, std::byte* offer) {
  return with_scalars(rows, [&]<class T>(MatrixView<const T> values) {
    return launch(stream, blocks(values.columns, take_threads), take_threads, offer_kernel<T>,
                  values, of, found, reinterpret_cast<Candidate*>(offer));
  });
}

cudaError_t take_pivot(cudaStream_t stream, AnyMatrix rows, std::int64_t first, FoundPivot found,
                       const Offers& offers, std::int64_t* pivot, std::int64_t* bad_pivot) {
  if (rows.rows == 0) return cudaSuccess;
  return with_scalars(rows, [&]<class T>(MatrixView<T> values) {
    return launch(stream, blocks(values.columns, take_threads), take_threads, take_kernel<T>,
                  values, first, found, offers, pivot, bad_pivot);
  });
}

cudaError_t eliminate(cudaStream_t stream, ConstAnyMatrix pivot_row, AnyMatrix rows,
                      SearchSpace* space, Found next) {
  if (rows.columns == 0) return cudaSuccess;
  return with_scalars(rows, [&]<class T>(MatrixView<T> values) {
    return launch(stream, search_grid(values.rows), search_threads, eliminate_kernel<T>,
                  elements_of<T>(pivot_row), values, space, next);
  });
}

cudaError_t permute_rows(cudaStream_t stream, const std::int64_t* from, const std::int64_t* to,
                         std::int64_t count, AnyMatrix a) {
  if (a.empty() || count == 0) return cudaSuccess;
  if (count > permuted_bytes / a.element_bytes()) return cudaErrorInvalidValue;
  return with_elements(a, [&]<class T>(MatrixView<T> values) {
    const std::int64_t group = std::min(
        room<T> / count, std::max(ceil_div(values.columns, permute_blocks),
                                  ceil_div(std::int64_t{in_flight} * permute_threads, count)));
    return launch(stream, blocks(values.columns, group), permute_threads, permute_kernel<T>, from,
                  to, count, group, values);
  });
}

cudaError_t gather_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                        AnyMatrix to) {
  if (to.empty()) return cudaSuccess;
  return with_elements(to, [&]<class T>(MatrixView<T> values) {
    return copy_rows<T>(stream, values.rows, rows, elements_of<T>(from), nullptr, values);
  });
}

cudaError_t scatter_rows(cudaStream_t stream, const std::int64_t* rows, ConstAnyMatrix from,
                         AnyMatrix to) {
  if (from.empty()) return cudaSuccess;
  return with_elements(to, [&]<class T>(MatrixView<T> values) {
    return copy_rows<T>(stream, from.rows, nullptr, elements_of<T>(from), rows, values);
  });
}

}  // namespace speedwell::cuda
