// SPDX-License-Identifier: BSD-3-Clause
// A is generated along rows. Each thread has a row, and neighbouring threads have neighbouring
// rows, so that they write contiguous memory. A step to the next column costs one multiplication.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"

namespace speedwell::cuda {

namespace {

constexpr int generate_threads = 128;
constexpr std::int64_t generate_columns = 256;  // columns between two jumps in the stream
constexpr int pass_threads = 256;
constexpr int pass_waves = 8;                 // waves of blocks, so that the last one is short
constexpr std::int64_t least_columns = 1024;  // of a part, since a jump costs as much as 50 steps
constexpr int blocks_per_multiprocessor = 8;

// The diagonal entry is written again at the end, by the thread that has written this column:
// inside of the loop it costs registers, and each entry a comparison.
template <bool random, class T>
__global__ void __launch_bounds__(generate_threads)
    generate_kernel(MatrixSpec spec, Cyclic rows, ColumnSteps steps, MatrixView<T> a) {
  const std::int64_t i = std::int64_t{blockIdx.x} * generate_threads + threadIdx.x;
  if (i >= a.rows) return;
  const std::int64_t row = rows.global(i);
  for (std::int64_t begin = blockIdx.y * generate_columns; begin < a.columns;
       begin += gridDim.y * generate_columns) {
    const std::int64_t rest = a.columns - begin;
    RowWalk walk(spec, steps, row, begin);
    T* to = &a(i, begin);
    walk.template walk<random>(spec, steps, rest < generate_columns ? rest : generate_columns,
                               [&](std::int64_t, double value) {
                                 *to = static_cast<T>(value);
                                 to += a.ld;
                               });
  }
  if (!steps.columns.mine(row)) return;
  const std::int64_t j = steps.columns.local(row);
  if (j < a.columns && j / generate_columns % gridDim.y == blockIdx.y)
    a(i, j) = static_cast<T>(spec.diagonal_entry(row, spec.regular(row, row)));
}

// Computes part blockIdx.y of each row's sums. Here `sums` have one number for each part and row.
template <bool random, bool with_abs, bool with_abs_ax>
__global__ void __launch_bounds__(pass_threads)
    pass_kernel(MatrixSpec spec, Cyclic rows, std::int64_t row_count, ColumnSteps steps,
                std::int64_t column_count, std::int64_t part_columns, const double* x,
                PassSums sums) {
  __shared__ double shared_x[pass_threads];
  const std::int64_t i = std::int64_t{blockIdx.x} * pass_threads + threadIdx.x;
  const std::int64_t begin = blockIdx.y * part_columns;
  const std::int64_t end =
      begin + part_columns < column_count ? begin + part_columns : column_count;
  double ax = 0;
  double abs_rows = 0;
  double abs_ax = 0;
  RowWalk walk(spec, steps, rows.global(i < row_count ? i : 0), begin);
  for (std::int64_t tile = begin; tile < end; tile += pass_threads) {
    const std::int64_t count = end - tile < pass_threads ? end - tile : pass_threads;
    __syncthreads();
    if (threadIdx.x < count) shared_x[threadIdx.x] = x[tile + threadIdx.x];
    __syncthreads();
    const double* xj = shared_x;
    walk.template walk<random>(spec, steps, count, [&](std::int64_t, double value) {
      ax = fma(value, *xj, ax);
      if (with_abs) abs_rows += fabs(value);
      if (with_abs_ax) abs_ax = fma(fabs(value), fabs(*xj), abs_ax);
      ++xj;
    });
  }
  if (i >= row_count) return;
  const std::int64_t at = blockIdx.y * row_count + i;
  sums.ax[at] = ax;
  if (with_abs) sums.abs_rows[at] = abs_rows;
  if (with_abs_ax) sums.abs_ax[at] = abs_ax;
}

template <bool random>
auto pass_kernel_for(const PassSums& sums) {
  if (sums.abs_rows && sums.abs_ax) return pass_kernel<random, true, true>;
  if (sums.abs_ax) return pass_kernel<random, false, true>;
  if (sums.abs_rows) return pass_kernel<random, true, false>;
  return pass_kernel<random, false, false>;
}

__device__ double total(const double* parts, std::int64_t count, std::int64_t stride) {
  double sum = 0;
  for (std::int64_t p = 0; p < count; ++p) sum += parts[p * stride];
  return sum;
}

// Adds the parts of each row's sums, and the difference of the diagonal entry to the regular value.
__global__ void __launch_bounds__(pass_threads)
    finish_kernel(MatrixSpec spec, Cyclic rows, std::int64_t row_count, Cyclic columns,
                  const double* x, PassSums parts, std::int64_t part_count, PassSums sums) {
  const std::int64_t i = std::int64_t{blockIdx.x} * pass_threads + threadIdx.x;
  if (i >= row_count) return;
  const std::int64_t g = rows.global(i);
  const bool diagonal = columns.mine(g);
  const double regular = diagonal ? spec.regular(g, g) : 0;
  const double entry = diagonal ? spec.diagonal_entry(g, regular) : 0;
  const double xi = diagonal ? x[columns.local(g)] : 0;
  const double abs_change = fabs(entry) - fabs(regular);
  sums.ax[i] = total(parts.ax + i, part_count, row_count) + (entry - regular) * xi;
  if (sums.abs_rows)
    sums.abs_rows[i] = total(parts.abs_rows + i, part_count, row_count) + abs_change;
  if (sums.abs_ax)
    sums.abs_ax[i] = total(parts.abs_ax + i, part_count, row_count) + abs_change * fabs(xi);
}

}  // namespace

cudaError_t generate(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                     const Cyclic& columns, AnyMatrix a) {
  if (a.empty()) return cudaSuccess;
  const dim3 grid(blocks(a.rows, generate_threads),
                  blocks(std::min(a.columns, generate_columns * largest_grid_y), generate_columns));
  return with_storage(a, [&]<class T>(MatrixView<T> to) {
    return launch(stream, grid, generate_threads,
                  spec.random() ? generate_kernel<true, T> : generate_kernel<false, T>, spec, rows,
                  column_steps(spec, columns), to);
  });
}

std::int64_t pass_parts(std::int64_t rows, std::int64_t columns, int multiprocessors) {
  const std::int64_t wanted =
      std::int64_t{pass_waves} * blocks_per_multiprocessor * multiprocessors;
  const std::int64_t parts = ceil_div(wanted, blocks(rows, pass_threads));
  return std::clamp<std::int64_t>(
      parts, 1, std::clamp(columns / least_columns, std::int64_t{1}, largest_grid_y));
}

cudaError_t multiply_generated(cudaStream_t stream, const MatrixSpec& spec, const Cyclic& rows,
                               std::int64_t row_count, const Cyclic& columns,
                               std::int64_t column_count, const double* x, const PassSums& sums,
                               std::int64_t parts, double* workspace) {
  if (row_count == 0) return cudaSuccess;
  const std::int64_t each = parts * row_count;
  PassSums parted{};
  parted.ax = workspace;
  if (sums.abs_rows) parted.abs_rows = workspace + each;
  if (sums.abs_ax) parted.abs_ax = workspace + 2 * each;
  const dim3 grid(blocks(row_count, pass_threads), static_cast<unsigned>(parts));
  const cudaError_t error =
      launch(stream, grid, pass_threads,
             spec.random() ? pass_kernel_for<true>(sums) : pass_kernel_for<false>(sums), spec, rows,
             row_count, column_steps(spec, columns), column_count, ceil_div(column_count, parts), x,
             parted);
  if (error != cudaSuccess) return error;
  return launch(stream, grid.x, pass_threads, finish_kernel, spec, rows, row_count, columns, x,
                parted, parts, sums);
}

}  // namespace speedwell::cuda
