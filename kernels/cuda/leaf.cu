// SPDX-License-Identifier: BSD-3-Clause
// A leaf of a panel with partial pivoting, some columns, by one kernel. Pivots and all numbers are
// those of one column after the other.
//
// A block of threads keeps its rows in shared memory, and of a group of columns in registers. For
// each column it offers its best candidate for the pivot, together with that row; after a barrier
// of the grid all blocks take the best offer, exchange their rows and eliminate. Columns behind the
// group follow when it is done: each block computes their rows of U itself.
#include "cuda/candidate.hpp"
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"

namespace speedwell::cuda {

namespace {

constexpr int most = static_cast<int>(leaf_columns);
constexpr int group = 8;  // columns in registers
constexpr int leaf_threads = 256;
constexpr int leaf_warps = leaf_threads / warp_lanes;
constexpr unsigned most_looks = 1u << 26;  // at a barrier, some seconds

/// What a block of threads offers as a column's pivot: the candidate, and its row of the leaf.
template <class T>
struct Offer {
  Candidate best;
  T values[most];
};

/// What all blocks of threads share. Offers and top are double-buffered: a block may be one column
/// ahead of another one.
template <class T>
struct Leaf {
  MatrixView<T> a;
  int block_rows;     // of a block of threads
  Offer<T>* offers;   // 2 x blocks
  T* top;             // 2 x most: the row that the pivot's row is exchanged with
  unsigned* arrived;  // at barriers; behind it, whether a wait was given up
  std::int64_t first;
  std::int64_t* pivots;
  LeafMoves moves;
  std::int64_t* bad_pivot;
  std::int64_t* stuck;
};

template <class T, int per>
struct LeafShared {
  T rows[most][leaf_threads * per];
  T pivots[group][most];  // the rows of the group's pivots, as they were when they were chosen
  T top[most];
  Candidate of_warps[leaf_warps];
  Candidate pivot;
  bool goes_on;
  int chosen[most];  // the rows of all pivots
};

/// The rows of a thread are threadIdx.x, threadIdx.x + leaf_threads ... of its block's.
template <class T, int per>
class LeafRows {
 public:
  __device__ LeafRows(const Leaf<T>& leaf, LeafShared<T, per>& shared)
      : b_(leaf),
        s_(shared),
        first_(static_cast<int>(blockIdx.x) * leaf.block_rows),
        width_(static_cast<int>(leaf.a.columns)) {
    const int rest = static_cast<int>(leaf.a.rows) - first_;
    count_ = rest < leaf.block_rows ? rest : leaf.block_rows;
  }

  __device__ void factor() {
    for (int c = 0; c < width_; ++c)
      for_each_row([&](int, int r) { s_.rows[c][r] = b_.a(first_ + r, c); });
    __syncthreads();
#pragma unroll 1
    for (begin_ = 0; begin_ < width_; begin_ += group) {
      end_ = begin_ + group < width_ ? begin_ + group : width_;
      take_group();
#pragma unroll 1
      for (int k = begin_; k < end_; ++k)
        if (!eliminate(k)) return;
      update_behind();
    }
    for (int c = 0; c < width_; ++c)
      for_each_row([&](int, int r) { b_.a(first_ + r, c) = s_.rows[c][r]; });
    if (blockIdx.x == 0 && threadIdx.x < warp_lanes) list_moves();
  }

 private:
  // All exchanges as one permutation, by a warp: lane i has row i, and the i-th of the pivots' rows
  // below the leaf's triangle. It follows whose values they get.
  __device__ void list_moves() {
    const int lane = static_cast<int>(threadIdx.x);
    int below = -1;
    int below_gets = -1;
    int gets = lane;
    int count = 0;
    for (int k = 0; k < width_; ++k) {
      const int pivot = s_.chosen[k];
      const int of_k = __shfl_sync(all_lanes, gets, k);
      int of_pivot;
      if (pivot < width_) {
        of_pivot = __shfl_sync(all_lanes, gets, pivot);
        if (lane == pivot) gets = of_k;
      } else {
        const unsigned known = __ballot_sync(all_lanes, below == pivot);
        const int at = known != 0 ? __ffs(static_cast<int>(known)) - 1 : count++;
        if (lane == at && known == 0) below = below_gets = pivot;
        of_pivot = __shfl_sync(all_lanes, below_gets, at);
        if (lane == at) below_gets = of_k;
      }
      if (lane == k) gets = of_pivot;
    }
    if (lane >= width_) return;
    b_.moves.from[lane] = gets;
    b_.moves.to[lane] = lane;
    // Where fewer rows below have moved, the first moves stand there twice.
    b_.moves.from[width_ + lane] = lane < count ? below_gets : gets;
    b_.moves.to[width_ + lane] = lane < count ? below : lane;
  }

  // Calls use(p, r) for a thread's row number p, which is row r of the block.
  template <class Use>
  __device__ void for_each_row(const Use& use) const {
#pragma unroll
    for (int p = 0; p < per; ++p)
      if (const int r = static_cast<int>(threadIdx.x) + p * leaf_threads; r < count_) use(p, r);
  }
  // Whether column c lies outside of the registers' window, which begins at column k.
  __device__ bool is_outside(int c, int k) const {
    return c < k || (c >= end_ && c < width_);
  }
  __device__ bool holds(int row) const {
    return row >= first_ && row < first_ + count_;
  }

  __device__ void take_group() {
#pragma unroll
    for (int p = 0; p < per; ++p)
#pragma unroll
      for (int d = 0; d < group; ++d) window_[p][d] = T{};
    for_each_row([&](int p, int r) {
#pragma unroll
      for (int d = 0; d < group; ++d)
        if (begin_ + d < end_) window_[p][d] = s_.rows[begin_ + d][r];
    });
  }

  // Column k: window_[p][d] is its column k + d.
  __device__ bool eliminate(int k) {
    offer(k, best_of_block(k));
    if (!barrier(k)) return false;
    choose(k);
    __syncthreads();
    exchange(k);
    const T* const pivot = s_.pivots[k - begin_];
    const Divisor<T> divisor(pivot[k]);
    for_each_row([&](int p, int r) {
      T(&x)[group] = window_[p];
      if (first_ + r > k && !divisor.is_zero()) {
        x[0] = divisor.quotient(x[0]);
#pragma unroll
        for (int d = 1; d < group; ++d)
          if (k + d < end_) x[d] = minus_product(x[d], x[0], pivot[k + d]);
      }
      s_.rows[k][r] = x[0];
#pragma unroll
      for (int d = 1; d < group; ++d) x[d - 1] = x[d];
    });
    __syncthreads();  // what was chosen is chosen anew for the next column
    return true;
  }

  // Every thread gets it.
  __device__ Candidate best_of_block(int k) {
    Candidate mine{-1, -1};
    for_each_row([&](int p, int r) {
      if (first_ + r >= k) mine = better(mine, candidate(window_[p][0], first_ + r));
    });
    mine = best_of_warp(mine);
    const int thread = static_cast<int>(threadIdx.x);
    if (thread % warp_lanes == 0) s_.of_warps[thread / warp_lanes] = mine;
    __syncthreads();
    mine = s_.of_warps[0];
    for (int w = 1; w < leaf_warps; ++w) mine = better(mine, s_.of_warps[w]);
    return mine;
  }

  __device__ Offer<T>* offers(int k) const {
    return b_.offers + k % 2 * static_cast<int>(gridDim.x);
  }
  __device__ T* top(int k) const {
    return b_.top + k % 2 * most;
  }

  // The candidate with its row, and row k, for all blocks.
  __device__ void offer(int k, const Candidate& mine) {
    Offer<T>& to = offers(k)[blockIdx.x];
    const int row = static_cast<int>(mine.row) - first_;  // no row is negative here
    for_each_row([&](int p, int r) {
      const bool is_candidate = mine.row >= 0 && r == row;
      const bool is_top = first_ + r == k;
#pragma unroll
      for (int d = 0; d < group; ++d) {
        if (is_candidate && k + d < end_) __stcg(&to.values[k + d], window_[p][d]);
        if (is_top && k + d < end_) __stcg(&top(k)[k + d], window_[p][d]);
      }
    });
    const int c = static_cast<int>(threadIdx.x);
    if (is_outside(c, k)) {
      if (mine.row >= 0) __stcg(&to.values[c], s_.rows[c][row]);
      if (holds(k)) __stcg(&top(k)[c], s_.rows[c][k - first_]);
    }
    if (c == 0) {
      __stcg(&to.best.magnitude, mine.magnitude);
      __stcg(&to.best.row, mine.row);
    }
  }

  // Of all blocks. @return false where a wait is given up
  __device__ bool barrier(int k) {
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) {
      volatile unsigned* const given_up = b_.arrived + 1;
      atomicAdd(b_.arrived, 1u);
      const unsigned all = static_cast<unsigned>(k + 1) * gridDim.x;
      const auto are_here = [&] { return *const_cast<volatile unsigned*>(b_.arrived) >= all; };
      bool here = are_here();
      for (unsigned looks = 0; !here && looks < most_looks && *given_up == 0; ++looks) {
        __nanosleep(20);
        here = are_here();
      }
      if (!here) {
        *given_up = 1;
        *b_.stuck = 1;
      }
      __threadfence();
      s_.goes_on = here;
    }
    __syncthreads();
    return s_.goes_on;
  }

  // The best offer, by the first warp.
  __device__ void choose(int k) {
    if (threadIdx.x >= warp_lanes) return;
    const int lane = static_cast<int>(threadIdx.x);
    Candidate best{-1, -1};
    int from = 0;
    for (int block = lane; block < static_cast<int>(gridDim.x); block += warp_lanes) {
      const Offer<T>& at = offers(k)[block];
      const Candidate here{__ldcg(&at.best.magnitude), __ldcg(&at.best.row)};
      if (!is_better(here, best)) continue;
      best = here;
      from = block;
    }
    for (unsigned half = warp_lanes / 2; half > 0; half /= 2) {
      const Candidate other{__shfl_down_sync(all_lanes, best.magnitude, half),
                            __shfl_down_sync(all_lanes, best.row, half)};
      const int of_other = __shfl_down_sync(all_lanes, from, half);
      if (!is_better(other, best)) continue;
      best = other;
      from = of_other;
    }
    from = __shfl_sync(all_lanes, from, 0);
    if (lane < width_) {
      s_.pivots[k - begin_][lane] = __ldcg(&offers(k)[from].values[lane]);
      s_.top[lane] = __ldcg(&top(k)[lane]);
    }
    if (lane > 0) return;
    s_.pivot = best;
    s_.chosen[k] = static_cast<int>(best.row);
    if (blockIdx.x > 0) return;
    b_.pivots[k] = b_.first + best.row;
    const bool usable = best.magnitude > 0 && best.magnitude <= largest_finite;
    if (!usable && *b_.bad_pivot < 0) *b_.bad_pivot = b_.first + k;
  }

  // Row k and the pivot's row change places.
  __device__ void exchange(int k) {
    const int pivot = static_cast<int>(s_.pivot.row);
    const T* const values = s_.pivots[k - begin_];
    const int c = static_cast<int>(threadIdx.x);
    if (is_outside(c, k)) {
      if (holds(pivot)) s_.rows[c][pivot - first_] = s_.top[c];
      if (holds(k)) s_.rows[c][k - first_] = values[c];
    }
    for_each_row([&](int p, int r) {
#pragma unroll
      for (int d = 0; d < group; ++d) {
        if (k + d >= end_) continue;
        if (first_ + r == pivot) window_[p][d] = s_.top[k + d];
        if (first_ + r == k) window_[p][d] = values[k + d];
      }
    });
  }

  // The columns behind the group: its rows of U, u_q <- u_q - sum_{d<q} l_qd u_d, in every block,
  // and then the rows below.
  __device__ void update_behind() {
    const int c = static_cast<int>(threadIdx.x);
    if (c >= end_ && c < width_)
#pragma unroll 1
      for (int q = 0; q < end_ - begin_; ++q) {
        T u = s_.pivots[q][c];
        for (int d = 0; d < q; ++d) u = minus_product(u, s_.pivots[q][begin_ + d], s_.pivots[d][c]);
        s_.pivots[q][c] = u;
        if (holds(begin_ + q)) s_.rows[c][begin_ + q - first_] = u;
      }
    __syncthreads();
    for_each_row([&](int, int r) {
      if (first_ + r < end_) return;
      T l[group];
#pragma unroll
      for (int q = 0; q < group; ++q) l[q] = begin_ + q < end_ ? s_.rows[begin_ + q][r] : T{};
#pragma unroll 2
      for (int t = end_; t < width_; ++t) {
        T sum = s_.rows[t][r];
#pragma unroll
        for (int q = 0; q < group; ++q) sum = minus_product(sum, l[q], s_.pivots[q][t]);
        s_.rows[t][r] = sum;
      }
    });
    __syncthreads();
  }

  const Leaf<T>& b_;
  LeafShared<T, per>& s_;
  int first_;
  int width_;
  int count_;
  int begin_ = 0;
  int end_ = 0;
  T window_[per][group];
};

template <class T, int per>
__global__ void __launch_bounds__(leaf_threads, 1) leaf_kernel(Leaf<T> leaf) {
  SPEEDWELL_DYNAMIC_SHARED(memory);
  LeafRows<T, per>(leaf, *reinterpret_cast<LeafShared<T, per>*>(memory)).factor();
}

// The kernel for `per` rows a thread, on all blocks at once.
template <class T, int per>
cudaError_t start(cudaStream_t stream, const Leaf<T>& leaf, unsigned count) {
  constexpr std::size_t bytes = sizeof(LeafShared<T, per>);
  void (*const kernel)(Leaf<T>) = leaf_kernel<T, per>;
  if (const cudaError_t error = cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                                     cudaFuncAttributeMaxDynamicSharedMemorySize,
                                                     static_cast<int>(bytes));
      error != cudaSuccess)
    return error;
  cudaLaunchAttribute together{};
  together.id = cudaLaunchAttributeCooperative;
  together.val.cooperative = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = count;
  config.blockDim = leaf_threads;
  config.dynamicSmemBytes = bytes;
  config.stream = stream;
  config.attrs = &together;
  config.numAttrs = 1;
  return cudaLaunchKernelEx(&config, kernel, leaf);
}

// Rows of a thread at most: what they need in shared memory fits where a block may have 227 KiB.
template <class T>
constexpr int most_per = sizeof(T) == sizeof(double) ? 3 : 4;

template <class T>
constexpr std::size_t shared_bytes(int per) {
  return per == 1   ? sizeof(LeafShared<T, 1>)
         : per == 2 ? sizeof(LeafShared<T, 2>)
         : per == 3 ? sizeof(LeafShared<T, 3>)
                    : sizeof(LeafShared<T, 4>);
}

// The rows of a block of threads, if all blocks fit on so many multiprocessors; 0: they do not.
template <class T>
int rows_of_block(std::int64_t m, const LeafRoom& room) {
  const std::int64_t rows =
      std::max<std::int64_t>(round_up(ceil_div(m, room.multiprocessors), warp_lanes), 2 * most);
  const std::int64_t per = ceil_div(rows, leaf_threads);
  const bool fits =
      per <= most_per<T> && shared_bytes<T>(static_cast<int>(per)) <= room.shared_bytes;
  return fits ? static_cast<int>(rows) : 0;
}

template <class T>
cudaError_t factor_leaf_of(cudaStream_t stream, MatrixView<T> a, const LeafRoom& room,
                           std::byte* scratch, std::int64_t first, std::int64_t* pivots,
                           const LeafMoves& moves, std::int64_t* bad_pivot, std::int64_t* stuck) {
  const int rows = rows_of_block<T>(a.rows, room);
  if (rows == 0) return cudaErrorInvalidValue;
  const unsigned count = blocks(a.rows, rows);
  auto* const arrived = reinterpret_cast<unsigned*>(scratch);
  auto* const top = reinterpret_cast<T*>(scratch + 2 * sizeof(double));
  auto* const offers = reinterpret_cast<Offer<T>*>(top + 2 * most);
  if (const cudaError_t error = cudaMemsetAsync(scratch, 0, 2 * sizeof(unsigned), stream);
      error != cudaSuccess)
    return error;
  const Leaf<T> leaf{a, rows, offers, top, arrived, first, pivots, moves, bad_pivot, stuck};
  switch (static_cast<int>(ceil_div(rows, leaf_threads))) {
    case 1:
      return start<T, 1>(stream, leaf, count);
    case 2:
      return start<T, 2>(stream, leaf, count);
    case 3:
      return start<T, 3>(stream, leaf, count);
    default:
      return start<T, most_per<T>>(stream, leaf, count);
  }
}

}  // namespace

bool leaf_fits(ConstAnyMatrix a, const LeafRoom& room) {
  if (a.field != Field::real || a.columns > leaf_columns || a.rows < a.columns) return false;
  if (a.precision == Precision::fp64) return rows_of_block<double>(a.rows, room) > 0;
  return a.precision == Precision::fp32 && rows_of_block<float>(a.rows, room) > 0;
}

std::int64_t leaf_scratch(int multiprocessors) {
  return std::int64_t{2 * sizeof(double)} + 2 * most * std::int64_t{sizeof(double)} +
         2 * multiprocessors * std::int64_t{sizeof(Offer<double>)};
}

cudaError_t factor_leaf(cudaStream_t stream, AnyMatrix a, const LeafRoom& room, std::byte* scratch,
                        std::int64_t first, std::int64_t* pivots, const LeafMoves& moves,
                        std::int64_t* bad_pivot, std::int64_t* stuck) {
  if (!leaf_fits(a, room)) return cudaErrorInvalidValue;
  if (a.precision == Precision::fp64)
    return factor_leaf_of(stream, a.as<double>(), room, scratch, first, pivots, moves, bad_pivot,
                          stuck);
  return factor_leaf_of(stream, a.as<float>(), room, scratch, first, pivots, moves, bad_pivot,
                        stuck);
}

}  // namespace speedwell::cuda
