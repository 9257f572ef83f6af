// Vectors against the factors, in FP64: bounded by the bytes of the factors.
#include "cuda/kernels.hpp"
#include "cuda/launch.hpp"

namespace lupine::cuda {

namespace {

constexpr int rows_a_block = 32;  // a warp reads 128 or 256 contiguous bytes of a column
// Column groups of a block: few where there are many rows, many where there are few, so that the
// loads in flight always fill the memory's pipe.
constexpr int few_groups = 8;
constexpr int many_groups = 32;
constexpr std::int64_t many_rows = 32768;
constexpr int unroll = 8;  // loads in flight of a thread

template <int groups, class T>
__global__ void __launch_bounds__(rows_a_block* groups)
    subtract_kernel(MatrixView<const T> a, const double* x, double* y) {
  __shared__ double sums[groups][rows_a_block];
  const int r = static_cast<int>(threadIdx.x) % rows_a_block;
  const int group = static_cast<int>(threadIdx.x) / rows_a_block;
  const std::int64_t i = std::int64_t{blockIdx.x} * rows_a_block + r;
  double sum = 0;
  if (i < a.rows) {
    const T* row = a.data + i;
#pragma unroll unroll
    for (std::int64_t j = group; j < a.cols; j += groups)
      sum = fma(static_cast<double>(row[j * a.ld]), x[j], sum);
  }
  sums[group][r] = sum;
  __syncthreads();
  if (group > 0 || i >= a.rows) return;
  for (int g = 1; g < groups; ++g) sum += sums[g][r];
  y[i] -= sum;
}

constexpr int triangle_rows = static_cast<int>(triangle_order);
constexpr int triangle_groups = 4;

// One block of threads, so that x may be read and written in place.
__global__ void __launch_bounds__(triangle_rows* triangle_groups)
    triangle_kernel(MatrixView<const float> a, Triangle triangle, double* x) {
  __shared__ double before[triangle_rows];
  __shared__ double sums[triangle_groups][triangle_rows];
  const int i = static_cast<int>(threadIdx.x) % triangle_rows;
  const int group = static_cast<int>(threadIdx.x) / triangle_rows;
  const int n = static_cast<int>(a.rows);
  if (group == 0) before[i] = i < n ? x[i] : 0;
  __syncthreads();
  double sum = 0;
  if (i < n) {
    const bool lower = triangle == Triangle::unit_lower;
    if (lower && group == 0) sum = before[i];
#pragma unroll unroll
    for (int j = group; j < n; j += triangle_groups) {
      const double value = static_cast<double>(a(i, j));  // read anyway, so that loads overlap
      if (lower ? j < i : j >= i) sum = fma(value, before[j], sum);
    }
  }
  sums[group][i] = sum;
  __syncthreads();
  if (group > 0 || i >= n) return;
  for (int g = 1; g < triangle_groups; ++g) sum += sums[g][i];
  x[i] = sum;
}

constexpr int add_threads = 256;

__global__ void __launch_bounds__(add_threads)
    add_kernel(std::int64_t n, const double* x, double* y) {
  const std::int64_t i = std::int64_t{blockIdx.x} * add_threads + threadIdx.x;
  if (i < n) y[i] += x[i];
}

}  // namespace

cudaError_t subtract_product(cudaStream_t stream, ConstAnyMatrix a, const double* x, double* y) {
  if (a.empty()) return cudaSuccess;
  const bool many = a.rows >= many_rows;
  return with_storage(a, [&]<class T>(MatrixView<const T> values) {
    return launch(
        stream, blocks(a.rows, rows_a_block), rows_a_block * (many ? few_groups : many_groups),
        many ? subtract_kernel<few_groups, T> : subtract_kernel<many_groups, T>, values, x, y);
  });
}

cudaError_t multiply_triangle(cudaStream_t stream, MatrixView<const float> a, Triangle triangle,
                              double* x) {
  if (a.empty()) return cudaSuccess;
  if (a.rows > triangle_order || a.cols != a.rows) return cudaErrorInvalidValue;
  return launch(stream, 1, triangle_rows * triangle_groups, triangle_kernel, a, triangle, x);
}

cudaError_t add(cudaStream_t stream, std::int64_t n, const double* x, double* y) {
  if (n == 0) return cudaSuccess;
  return launch(stream, blocks(n, add_threads), add_threads, add_kernel, n, x, y);
}

}  // namespace lupine::cuda
