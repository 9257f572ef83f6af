// SPDX-License-Identifier: BSD-3-Clause
// Operations with FP64 vectors and the factors, a benchmark's matrix or a user's matrix, by kernels
// of our own. cuBLAS solves with FP64 triangles.
#include <algorithm>

#include "core/numbers.hpp"
#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace lupine {

namespace {

using cuda::Triangle;

// Substitution by blocks. Block s of the unknowns is a product with the inverse on the diagonal,
// and r are the blocks behind s in L, or before s in U:
//   x_s <- T_ss^-1 x_s, x_r <- x_r - T_rs x_s;  transposed: x_s <- T_ss^-T (x_s - T_rs^T x_r).
void solve_by_inverses(cudaStream_t stream, Triangle triangle, Transpose transpose,
                       ConstAnyMatrix lu, double* x) {
  const bool lower = triangle == Triangle::unit_lower;
  const bool transposed = transpose == Transpose::yes;
  const std::int64_t n = lu.rows;
  const std::int64_t blocks = ceil_div(n, cuda::triangle_order);
  for (std::int64_t k = 0; k < blocks; ++k) {
    const std::int64_t s = (lower != transposed ? k : blocks - 1 - k) * cuda::triangle_order;
    const std::int64_t w = std::min(cuda::triangle_order, n - s);
    const std::int64_t r = lower ? s + w : 0;
    const ConstAnyMatrix rest = lu.block(r, s, lower ? n - r : s, w);
    if (transposed)
      check(cuda::subtract_product(stream, transpose, rest, x + r, x + s), "subtract_product");
    check(cuda::multiply_triangle(stream, transpose, lu.block(s, s, w, w).as<float>(), triangle,
                                  x + s),
          "multiply_triangle");
    if (!transposed)
      check(cuda::subtract_product(stream, transpose, rest, x + s, x + r), "subtract_product");
  }
}

void solve(Lane& lane, Triangle triangle, Transpose transpose, ConstAnyMatrix lu, double* x) {
  if (lu.precision == Precision::fp64)
    solve_vector(lane, triangle, transpose, lu.as<double>(), x);
  else
    solve_by_inverses(lane.stream(), triangle, transpose, lu, x);
}

}  // namespace

void CudaDevice::subtract_product(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                  const double* x, double* y) {
  check(cuda::subtract_product(lane(queue).stream(), transpose, a, x, y), "subtract_product");
}

void CudaDevice::solve_lower(Queue& queue, Transpose transpose, ConstAnyMatrix lu, double* x) {
  solve(lane(queue), Triangle::unit_lower, transpose, lu, x);
}

void CudaDevice::solve_upper(Queue& queue, Transpose transpose, ConstAnyMatrix lu, double* x) {
  solve(lane(queue), Triangle::upper, transpose, lu, x);
}

void CudaDevice::add(Queue& queue, std::int64_t n, const double* x, double* y) {
  check(cuda::add(lane(queue).stream(), n, x, y), "add");
}

void CudaDevice::multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                                    const Distribution& columns, const double* x, double* ax,
                                    double* abs_rows, double* abs_ax) {
  Lane& l = lane(queue);
  MatrixSpec here = spec;
  if (spec.diagonal != nullptr) here.diagonal = l.diagonal(spec.diagonal, spec.n);
  const std::int64_t m = rows.local_size();
  const std::int64_t n = columns.local_size();
  const std::int64_t parts = cuda::pass_parts(m, n, properties_.multiProcessorCount);
  const int sums = abs_ax != nullptr ? 3 : abs_rows != nullptr ? 2 : 1;
  auto* workspace =
      reinterpret_cast<double*>(l.scratch(sums * parts * m * std::int64_t{sizeof(double)}));
  check(cuda::multiply_generated(l.stream(), here, cyclic(rows), m, cyclic(columns), n, x,
                                 {ax, abs_rows, abs_ax}, parts, workspace),
        "multiply_generated");
}

void CudaDevice::add_entries(Queue& queue, const MatrixEntry* entries, std::int64_t count,
                             AnyMatrix a) {
  check(cuda::add_entries(lane(queue).stream(), entries, count, a.as<double>()), "add_entries");
}

void CudaDevice::multiply(Queue& queue, ConstAnyMatrix a, const double* x, double* ax,
                          double* abs_rows, double* abs_ax) {
  check(cuda::multiply(lane(queue).stream(), a.as<double>(), x, {ax, abs_rows, abs_ax}),
        "multiply");
}

void CudaDevice::largest_of_rows(Queue& queue, ConstAnyMatrix a, const double* scale,
                                 double* most) {
  check(cuda::largest_of_rows(lane(queue).stream(), a.as<double>(), scale, most),
        "largest_of_rows");
}

void CudaDevice::largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale,
                                    double* most) {
  check(cuda::largest_of_columns(lane(queue).stream(), a.as<double>(), scale, most),
        "largest_of_columns");
}

void CudaDevice::scale(Queue& queue, ConstAnyMatrix from, const double* row_scale,
                       const double* column_scale, AnyMatrix to) {
  check(cuda::scale(lane(queue).stream(), from.as<double>(), row_scale, column_scale, to), "scale");
}

}  // namespace lupine
