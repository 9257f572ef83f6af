// SPDX-License-Identifier: BSD-3-Clause
// A diagonal block A = L U without pivoting, and the inverses of its triangles, by one kernel: as
// many launches as a step of the recursion has would take longer than the arithmetic.
//
// The block is cut into tiles. Each task makes one, from sums of products of tiles before it:
//
//   lower     L_ij = (A_ij - sum_{t<j} L_it U_tj) U_jj^-1          i > j
//   upper     U_ij = L_ii^-1 (A_ij - sum_{t<i} L_it U_tj)          i < j
//   diagonal  L_jj U_jj = A_jj - sum_{t<j} L_jt U_tj, and the inverses of both
//   v         V_ij = -(sum_{i<=t<j} V_it U_tj) U_jj^-1             of V = U^-1, i < j
//   w         W_ij = -L_ii^-1 sum_{j<=t<i} L_it W_tj               of W = L^-1, i > j
//
// V and W are those of blocks of triangle_order on the diagonal. Blocks of threads take tasks from
// one counter, in an order in which a task needs earlier ones alone. So whoever waits, waits for
// a task that somebody works at: any number of blocks can run at once, one after another too.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"
#include "cuda/tile.hpp"

namespace speedwell::cuda {

namespace {

constexpr int group = static_cast<int>(triangle_order / tile_order);  // tiles that are inverted

enum class Kind { diagonal, lower, upper, v, w, none };
struct Task {
  Kind kind;
  int i;
  int j;
  __device__ bool inverts() const { return kind == Kind::v || kind == Kind::w; }
  // Whether the sum is multiplied by the inverse of U_jj from the right, not by that of L_ii.
  __device__ bool by_upper() const { return kind == Kind::lower || kind == Kind::v; }
};

/// What all blocks of threads share.
struct Block {
  MatrixView<float> a;
  int tiles;
  float* lu;        // tiles * order squared: L and U, the unit matrix beyond A
  float* inverses;  // tiles * order x triangle_order: the blocks that are inverted
  // Tasks that blocks of threads have taken; then a flag for a wait that was given up, and one for
  // each tile.
  unsigned* claimed;
  std::int64_t begin;
  std::int64_t* bad_pivot;
  std::int64_t* stuck;
  unsigned most_looks;

  __device__ int ld() const { return tiles * order; }
  // Of a tile's first number, in one of both.
  __device__ int offset(int i, int j) const { return order * (i + j * ld()); }
  __device__ float* factor(int i, int j) const { return lu + offset(i, j); }
  __device__ float* inverse(int i, int j) const { return inverses + offset(i, j % group); }
  __device__ unsigned* given_up() const { return claimed + 1; }
  __device__ unsigned* factored(int i, int j) const {
    const int place = 2 + i + j * tiles;
    return claimed + place;
  }
  /// The inverse of a tile on the diagonal is made with its factors.
  __device__ unsigned* inverted(int i, int j) const {
    return i == j ? factored(i, i) : factored(i, tiles + j % group);
  }
};

/// The words of Block::claimed.
std::int64_t words(std::int64_t tiles) {
  return 2 + tiles * (tiles + group);
}

/// The tasks in their order. Level k has what needs the diagonal tile k: first what the next
/// diagonal tile needs, and that tile.
class Tasks {
 public:
  __device__ explicit Tasks(int tiles) : tiles_(tiles) {}

  /// @param number that of this call or a later one is not below it
  __device__ Task at(unsigned number) {
    for (; level_ < tiles_ && number - first_ >= factors() + inverses(); ++level_)
      first_ += factors() + inverses();
    if (level_ == tiles_) return {Kind::none, 0, 0};
    const int k = level_;
    if (k < 0) return {Kind::diagonal, 0, 0};
    unsigned place = number - first_;
    if (place >= factors()) {
      place -= factors();
      const int other = k - 1 - static_cast<int>(place / 2);
      return place % 2 == 0 ? Task{Kind::v, other, k} : Task{Kind::w, k, other};
    }
    if (place == 2) return {Kind::diagonal, k + 1, k + 1};
    const int other = k + 1 + static_cast<int>((place > 2 ? place - 1 : place) / 2);
    return (place > 2 ? place - 1 : place) % 2 == 0 ? Task{Kind::lower, other, k}
                                                    : Task{Kind::upper, k, other};
  }

 private:
  __device__ unsigned factors() const {
    if (level_ < 0) return 1;
    return level_ + 1 < tiles_ ? 2u * static_cast<unsigned>(tiles_ - level_ - 1) + 1 : 0;
  }
  __device__ unsigned inverses() const {
    return level_ < 0 ? 0 : 2u * static_cast<unsigned>(level_ % group);
  }

  int tiles_;
  int level_ = -1;
  unsigned first_ = 0;  // the number of the level's first task
};

struct Shared {
  TwoTiles tiles;
  unsigned claimed;
  bool ready;       // what await() has waited for
  bool next_ready;  // the factors of the next product: thread 0 may await them while others read
                    // this
};

/// Reads a tile of L, U or an inverse, of which `part` counts. Past L1, which knows nothing of what
/// other multiprocessors have written. Threads have other numbers of it than Own: neighbours read
/// neighbouring rows.
struct Fetched {
  float4 of[own];

  __device__ static int row() { return static_cast<int>(threadIdx.x) % side * own; }
  __device__ static int column(int s) { return static_cast<int>(threadIdx.x) / side + side * s; }

  __device__ void read(const float* tile, int ld) {
    const int first = row() + column(0) * ld;
    const int step = side / own * ld;
    const auto* from = reinterpret_cast<const float4*>(tile + first);
#pragma unroll
    for (int s = 0; s < own; ++s, from += step) of[s] = __ldcg(from);
  }
  __device__ void put(Tile to, Part part) const {
#pragma unroll
    for (int s = 0; s < own; ++s)
      *reinterpret_cast<float4*>(&to[column(s)][row()]) = {
          kept(of[s].x, part, row(), column(s)), kept(of[s].y, part, row() + 1, column(s)),
          kept(of[s].z, part, row() + 2, column(s)), kept(of[s].w, part, row() + 3, column(s))};
  }
};

/// Makes one tile after another.
class Worker {
 public:
  __device__ Worker(const Block& block, Shared& shared)
      : b_(block), s_(shared), x_(shared.tiles.x()), y_(shared.tiles.y()), tasks_(block.tiles) {}

  __device__ void work() {
    for (Task task = claim(); task.kind != Kind::none; task = claim())
      if (!make(task)) return;
  }

 private:
  __device__ Task claim() {
    if (threadIdx.x == 0) s_.claimed = atomicAdd(b_.claimed, 1u);
    __syncthreads();
    return tasks_.at(s_.claimed);  // make() has a barrier before the next claim
  }

  // The factors number t of a task's sum, each with the flag that says that it is made.
  __device__ const float* left(const Task& a, int t) const {
    return a.kind == Kind::v ? b_.inverse(a.i, t) : b_.factor(a.i, t);
  }
  __device__ const float* right(const Task& a, int t) const {
    return a.kind == Kind::w ? b_.inverse(t, a.j) : b_.factor(t, a.j);
  }
  __device__ bool are_made(const Task& a, int t) const {
    return is_set(a.kind == Kind::v ? b_.inverted(a.i, t) : b_.factored(a.i, t)) &&
           is_set(a.kind == Kind::w ? b_.inverted(t, a.j) : b_.factored(t, a.j));
  }

  __device__ static bool is_set(const unsigned* flag) {
    return *const_cast<const volatile unsigned*>(flag) != 0;
  }

  // Waits until `made` says so. @return false where a wait is given up, of this block or another
  template <class Made>
  __device__ bool await(const Made& made) {
    if (threadIdx.x == 0) {
      bool ready = made();
      for (unsigned looks = 0; !ready && looks < b_.most_looks && !is_set(b_.given_up()); ++looks) {
        __nanosleep(40);
        ready = made();
      }
      if (!ready) {
        *b_.stuck = 1;
        atomicExch(b_.given_up(), 1u);
      }
      __threadfence();
      s_.ready = ready;
    }
    __syncthreads();
    return s_.ready;
  }

  // The sum of products of a task. The factors of the next product are read while one is computed,
  // if they are there.
  __device__ bool add_products(const Task& task, Own& sums) {
    const int first = task.kind == Kind::v ? task.i : task.kind == Kind::w ? task.j : 0;
    const int end = task.inverts() ? (task.kind == Kind::v ? task.j : task.i)
                                   : (task.i < task.j ? task.i : task.j);
    Fetched x;
    Fetched y;
    const auto read = [&](int t) {
      x.read(left(task, t), b_.ld());
      y.read(right(task, t), b_.ld());
    };
    bool is_read = false;
#pragma unroll 1
    for (int t = first; t < end; ++t) {
      if (!is_read) {
        if (!await([&] { return are_made(task, t); })) return false;
        read(t);
      }
      __syncthreads();  // nobody computes with the tiles before any more
      x.put(x_, task.kind == Kind::v && t == first ? Part::upper : Part::all);
      y.put(y_, task.kind == Kind::w && t == first ? Part::unit_lower : Part::all);
      if (threadIdx.x == 0) {
        s_.next_ready = t + 1 < end && are_made(task, t + 1);
        __threadfence();
      }
      __syncthreads();
      is_read = s_.next_ready;
      if (is_read) read(t + 1);
      add_product(sums, x_, y_);
    }
    __syncthreads();
    return true;
  }

  // @return false where a wait was given up
  __device__ bool make(const Task& task) {
    Own sums{};
    if (!add_products(task, sums)) return false;
    const Tile rest = task.by_upper() || task.kind == Kind::diagonal ? x_ : y_;
    for_each_own([&](int c, int r, int i, int j) {
      const bool is_one = task.kind == Kind::diagonal && i == j;  // beyond A, of the unit matrix
      rest[j][i] = (is_one ? 1.0f : 0.0f) - sums.of[c][r];
    });
    if (!task.inverts())
      for_each_of_a(task, [&](int c, int r, const float& at) {
        rest[own_column(c)][own_row() + r] = at - sums.of[c][r];
      });
    if (task.kind == Kind::diagonal) {
      __syncthreads();
      make_diagonal(task);
    } else {
      const int d = task.by_upper() ? task.j : task.i;
      if (!await([&] { return is_set(b_.factored(d, d)); })) return false;
      Fetched inverse;
      inverse.read(b_.inverse(d, d), b_.ld());
      inverse.put(task.by_upper() ? y_ : x_, task.by_upper() ? Part::upper : Part::unit_lower);
      __syncthreads();
      Own result{};
      add_product(result, x_, y_);
      store(task, result, task.inverts() ? b_.inverse(task.i, task.j) : b_.factor(task.i, task.j));
    }
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0)
      atomicExch(task.inverts() ? b_.inverted(task.i, task.j) : b_.factored(task.i, task.j), 1u);
    return true;
  }

  __device__ void make_diagonal(const Task& task) {
    const std::int64_t begin = std::int64_t{task.i} * order;
    const auto rows = static_cast<int>(b_.a.rows - begin);
    factor(x_, rows, b_.begin + begin, b_.bad_pivot);
    Own values;
    const auto take = [&] {
      for_each_own([&](int c, int r, int row, int column) { values.of[c][r] = x_[column][row]; });
    };
    take();
    write(values, b_.factor(task.i, task.i));
    __syncthreads();
    invert(x_, y_);
    take();
    store(task, values, b_.inverse(task.i, task.i));
  }

  // Calls use(c, r, at, row, column) for a thread's numbers of a tile that lie in A.
  template <class Use>
  __device__ void for_each_of_a(const Task& task, const Use& use) const {
    const std::int64_t corner = std::int64_t{task.i} * order + own_row();
    const int rows = static_cast<int>(b_.a.rows) - task.i * order;
    const int columns = static_cast<int>(b_.a.rows) - task.j * order;
#pragma unroll
    for (int c = 0; c < own; ++c) {
      if (own_column(c) >= columns) break;
      float* const at = b_.a.column(task.j * order + own_column(c)) + corner;
#pragma unroll
      for (int r = 0; r < own; ++r)
        if (own_row() + r < rows) use(c, r, at[r]);
    }
  }

  __device__ void write(const Own& values, float* tile) const {
#pragma unroll
    for (int c = 0; c < own; ++c) {
      const int offset = own_row() + own_column(c) * b_.ld();
      *reinterpret_cast<float4*>(tile + offset) = {values.of[c][0], values.of[c][1],
                                                   values.of[c][2], values.of[c][3]};
    }
  }

  // Writes a tile for other tasks, and into A what stays there.
  __device__ void store(const Task& task, const Own& values, float* tile) const {
    write(values, tile);
    const bool is_inverted_later =
        !task.inverts() && task.i != task.j && task.i / group == task.j / group;
    if (is_inverted_later) return;
    for_each_of_a(task, [&](int c, int r, float& at) { at = values.of[c][r]; });
  }

  const Block& b_;
  Shared& s_;
  Tile x_;
  Tile y_;
  Tasks tasks_;
};

// Without this number of blocks on a multiprocessor, the compiler spills registers for sm_100.
constexpr int blocks_at_once = 2;

// Block b factors tile b on the diagonal if `factors`, and inverts its triangles.
template <bool factors>
__global__ void __launch_bounds__(tile_threads, blocks_at_once)
    tile_kernel(MatrixView<float> matrix, std::int64_t begin, std::int64_t* bad_pivot) {
  __shared__ TwoTiles tiles;
  const std::int64_t corner = blockIdx.x * tile_order;
  const std::int64_t rest = matrix.rows - corner;
  const int n = rest < tile_order ? static_cast<int>(rest) : order;
  const MatrixView<float> tile = matrix.block(corner, corner, n, n);
  float values[tile_share];
  for_each_number([&](int s, int i, int j) {  // beyond A: the unit matrix
    values[s] = i < n && j < n ? tile(i, j) : i == j ? 1.0f : 0.0f;
  });
  for_each_number([&](int s, int i, int j) { tiles.x()[j][i] = values[s]; });
  __syncthreads();
  if (factors) factor(tiles.x(), n, begin, bad_pivot);
  invert(tiles.x(), tiles.y());
  for_each_number([&](int, int i, int j) {
    if (i < n && j < n) tile(i, j) = tiles.x()[j][i];
  });
}

__global__ void __launch_bounds__(tile_threads, factor_blocks_at_once)
    factor_block_kernel(Block block) {
  __shared__ Shared shared;
  Worker(block, shared).work();
}

}  // namespace

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

std::int64_t factor_block_scratch(std::int64_t n) {
  const std::int64_t padded = round_up(n, tile_order);
  return (padded * (padded + triangle_order)) * std::int64_t{sizeof(float)} +
         words(padded / tile_order) * std::int64_t{sizeof(unsigned)};
}

// NOLINTBEGIN(readability-non-const-parameter): the kernel writes there
cudaError_t factor_block(cudaStream_t stream, MatrixView<float> a, std::int64_t begin,
                         int most_blocks, std::byte* scratch, std::int64_t* bad_pivot,
                         std::int64_t* stuck, unsigned most_looks) {
  // NOLINTEND(readability-non-const-parameter)
  if (a.rows != a.columns) return cudaErrorInvalidValue;
  if (a.empty()) return cudaSuccess;
  const std::int64_t padded = round_up(a.rows, tile_order);
  const std::int64_t tiles = padded / tile_order;
  auto* const lu = reinterpret_cast<float*>(scratch);
  float* const inverses = lu + padded * padded;
  auto* const claimed = reinterpret_cast<unsigned*>(inverses + padded * triangle_order);
  const Block block{
      a, static_cast<int>(tiles), lu, inverses, claimed, begin, bad_pivot, stuck, most_looks};
  const auto bytes = static_cast<std::size_t>(words(tiles)) * sizeof(unsigned);
  if (const cudaError_t error = cudaMemsetAsync(claimed, 0, bytes, stream); error != cudaSuccess)
    return error;
  const auto wanted = static_cast<int>(std::min<std::int64_t>(tiles * tiles, most_blocks));
  return launch(stream, std::max(wanted, 1), tile_threads, factor_block_kernel, block);
}

}  // namespace speedwell::cuda
