// SPDX-License-Identifier: BSD-3-Clause
// Operations with FP64 vectors and the factors, a benchmark's matrix or a user's matrix, by kernels
// of our own. cuBLAS solves with FP64 and with complex triangles.
#include <algorithm>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "device/checksum_keys.hpp"
#include "device/cuda/blas.hpp"
#include "device/cuda/check.hpp"
#include "device/cuda/cuda_device.hpp"

namespace speedwell {

namespace {

// T x = b by blocks of unknowns, from the first to the last in L and from the last to the first in
// U. For block s and the blocks r still to come: x_s <- T_ss^-1 x_s, x_r <- x_r - T_rs x_s. One
// launch has the second product of a block and the first one of the next block.
void solve_by_inverses(Lane& l, Triangle triangle, ConstAnyMatrix lu, double* x) {
  constexpr std::int64_t order = cuda::triangle_order;
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t n = lu.rows;
  auto* parts =
      reinterpret_cast<double*>(l.scratch(2 * cuda::parts_size * std::int64_t{sizeof(double)}));
  double* next_parts = parts + cuda::parts_size;
  std::int64_t s = lower ? 0 : n;  // where block s begins; at first there is none
  std::int64_t w = 0;
  for (std::int64_t k = 0; k <= ceil_div(n, order); ++k) {
    const std::int64_t r = lower ? s + w : 0;
    const std::int64_t rest = lower ? n - r : s;
    const std::int64_t next = lower ? r : std::max<std::int64_t>(rest - 1, 0) / order * order;
    const std::int64_t next_w = std::min(order, r + rest - next);
    check(cuda::substitute(
              l.stream(), {triangle, lu.block(r, s, rest, w).as<float>(), parts, x + s, x + r,
                           lu.block(next, next, next_w, next_w).as<float>(), next - r, next_parts}),
          "substitute");
    s = next;
    w = next_w;
    std::swap(parts, next_parts);
  }
}

// T^T x = b: for block s and the blocks r before it, x_s <- T_ss^-T (x_s - T_rs^T x_r). Calls
// subtract(T_rs, r, s) and multiply(T_ss, s) with the first rows of the blocks.
template <class Subtract, class Multiply>
void solve_transposed(Triangle triangle, MatrixView<const float> lu, const Subtract& subtract,
                      const Multiply& multiply) {
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t n = lu.rows;
  const std::int64_t blocks = ceil_div(n, cuda::triangle_order);
  for (std::int64_t k = 0; k < blocks; ++k) {
    const std::int64_t s = (lower ? blocks - 1 - k : k) * cuda::triangle_order;
    const std::int64_t w = std::min(cuda::triangle_order, n - s);
    const std::int64_t r = lower ? s + w : 0;
    subtract(lu.block(r, s, lower ? n - r : s, w), r, s);
    multiply(lu.block(s, s, w, w), s);
  }
}

void solve_transposed(cudaStream_t stream, Triangle triangle, MatrixView<const float> lu,
                      double* x) {
  solve_transposed(
      triangle, lu,
      [&](MatrixView<const float> t, std::int64_t r, std::int64_t s) {
        check(cuda::subtract_product(stream, Transpose::yes, t, x + r, x + s), "subtract_product");
      },
      [&](MatrixView<const float> t, std::int64_t s) {
        check(cuda::multiply_transposed_triangle(stream, t, triangle, x + s),
              "multiply_transposed_triangle");
      });
}

// Many vectors: by products of matrices.
void solve_transposed(Lane& l, Triangle triangle, MatrixView<const float> lu, MatrixView<float> x) {
  const auto rows = [&](std::int64_t first, std::int64_t count) {
    return x.block(first, 0, count, x.columns);
  };
  solve_transposed(
      triangle, lu,
      [&](MatrixView<const float> t, std::int64_t r, std::int64_t s) {
        add_product<float>(l, -1.0f, t, rows(r, t.rows), rows(s, t.columns), Transpose::yes);
      },
      [&](MatrixView<const float> t, std::int64_t s) {
        triangle_product(l, CUBLAS_SIDE_LEFT, triangle, 1, t, rows(s, t.rows), Transpose::yes);
      });
}

// As CudaDevice::solve(), with a complex triangle and vectors in planes. cuBLAS's vectors are the
// first of each two columns of their pairs; where they are FP64 and the triangle is not, it reads a
// copy of it.
void solve_complex(Lane& l, Triangle triangle, Transpose transpose, ConstAnyMatrix lu,
                   AnyMatrix planes) {
  if (planes.empty()) return;
  const std::int64_t n = lu.rows;
  std::byte* scratch = l.scratch(complex_scratch(n, planes.columns));
  const AnyMatrix pairs{planes.precision, scratch, 2 * n, planes.columns, 2 * n};
  const AnyMatrix x{planes.precision, scratch, n, planes.columns / 2, 2 * n, Field::complex};
  ConstAnyMatrix read = lu;
  if (lu.precision != planes.precision) {
    const AnyMatrix wide{
        planes.precision, scratch + pairs.columns * pairs.ld * pairs.element_bytes(), n, n, n,
        Field::complex};
    check(cuda::convert(l.stream(), lu.real(), wide.real()), "convert");
    read = wide;
  }
  check(cuda::spread_pairs(l.stream(), planes, pairs), "spread_pairs");
  with_numbers(x, [&]<class T>(MatrixView<T> vectors) {
    if constexpr (field_of<T> == Field::complex)
      solve_triangle<T>(l, triangle, transpose, read.as<T>(), vectors);
  });
  check(cuda::gather_pairs(l.stream(), pairs, planes), "gather_pairs");
}

}  // namespace

void CudaDevice::subtract_product(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                  ConstAnyMatrix x, AnyMatrix y) {
  Lane& l = lane(queue);
  if (as_product(a, x)) {
    if (transpose == Transpose::no) return subtract(queue, a, x, y);
    return with_storage(a, [&](const auto& values) {
      using T = std::remove_cvref_t<decltype(values(0, 0))>;
      add_product<T>(l, T{-1}, values, x.as<T>(), y.as<T>(), transpose);
    });
  }
  for (std::int64_t k = 0; k < x.columns; ++k)
    check(cuda::subtract_product(l.stream(), transpose, a, x.as<double>().column(k),
                                 y.as<double>().column(k)),
          "subtract_product");
}

void CudaDevice::solve(Queue& queue, Triangle triangle, Transpose transpose, ConstAnyMatrix lu,
                       AnyMatrix x) {
  Lane& l = lane(queue);
  if (lu.field == Field::complex) return solve_complex(l, triangle, transpose, lu, x);
  if (lu.precision == Precision::fp64)
    return solve_triangle<double>(l, triangle, transpose, lu.as<double>(), x.as<double>());
  if (x.precision == Precision::fp32) {
    if (transpose == Transpose::yes)
      return solve_transposed(l, triangle, lu.as<float>(), x.as<float>());
    return triangle == Triangle::unit_lower
               ? solve_exactly(l, triangle, lu.as<float>(), x.as<float>())
               : left_upper(l, lu.as<float>(), x.as<float>());
  }
  for (std::int64_t k = 0; k < x.columns; ++k) {
    double* const column = x.as<double>().column(k);
    if (transpose == Transpose::yes)
      solve_transposed(l.stream(), triangle, lu.as<float>(), column);
    else
      solve_by_inverses(l, triangle, lu, column);
  }
}

void CudaDevice::solve_lower(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) {
  solve(queue, Triangle::unit_lower, transpose, lu, x);
}

void CudaDevice::solve_upper(Queue& queue, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) {
  solve(queue, Triangle::upper, transpose, lu, x);
}

// X_s = U_ss^-1 (B_s - sum_{t>s} U_st X_t), from the last block to the first.
void CudaDevice::left_upper(Lane& l, MatrixView<const float> lu, MatrixView<float> b) {
  if (b.empty()) return;
  const std::int64_t n = lu.columns;
  for (std::int64_t k = ceil_div(n, cuda::triangle_order); k-- > 0;) {
    const std::int64_t s = k * cuda::triangle_order;
    const std::int64_t w = std::min(cuda::triangle_order, n - s);
    const std::int64_t after = s + w;
    const MatrixView<float> part = b.block(s, 0, w, b.columns);
    products().multiply(l, Reading::fp32, -1, factor_of(lu.block(s, after, w, n - after)),
                        factor_of(b.block(after, 0, n - after, b.columns)), 1, part);
    triangle_product(l, CUBLAS_SIDE_LEFT, Triangle::upper, 1, lu.block(s, s, w, w), part);
  }
}

void CudaDevice::clear(Queue& queue, std::span<std::byte> device) {
  if (device.empty()) return;
  check(cudaMemsetAsync(device.data(), 0, device.size(), lane(queue).stream()), "cudaMemsetAsync");
}

void CudaDevice::add(Queue& queue, ConstAnyMatrix x, AnyMatrix y) {
  check(cuda::add(lane(queue).stream(), x, y), "add");
}

void CudaDevice::add_pairs(Queue& queue, Pairs pairs, ConstAnyMatrix x, AnyMatrix y) {
  check(cuda::add_pairs(lane(queue).stream(), pairs == Pairs::sums, x, y), "add_pairs");
}

void CudaDevice::spread_pairs(Queue& queue, ConstAnyMatrix x, AnyMatrix y) {
  check(cuda::spread_pairs(lane(queue).stream(), x, y), "spread_pairs");
}

std::int64_t CudaDevice::pass_scratch(std::int64_t rows, std::int64_t columns, int sums) const {
  const std::int64_t parts = cuda::pass_parts(rows, columns, properties().multiProcessorCount);
  return sums * parts * rows * std::int64_t{sizeof(double)};
}

void CudaDevice::multiply_generated(Queue& queue, const MatrixSpec& spec, const Distribution& rows,
                                    const Distribution& columns, const double* x, double* ax,
                                    double* abs_rows, double* abs_ax) {
  Lane& l = lane(queue);
  MatrixSpec here = spec;
  if (spec.diagonal != nullptr) here.diagonal = l.diagonal(spec.diagonal, spec.n);
  const std::int64_t m = rows.local_size();
  const std::int64_t n = columns.local_size();
  const std::int64_t parts = cuda::pass_parts(m, n, properties().multiProcessorCount);
  const int sums = abs_ax != nullptr ? 3 : abs_rows != nullptr ? 2 : 1;
  auto* workspace = reinterpret_cast<double*>(l.scratch(pass_scratch(m, n, sums)));
  check(cuda::multiply_generated(l.stream(), here, cyclic(rows), m, cyclic(columns), n, x,
                                 {ax, abs_rows, abs_ax}, parts, workspace),
        "multiply_generated");
}

void CudaDevice::add_entries(Queue& queue, const MatrixEntry* entries, std::int64_t count,
                             AnyMatrix a) {
  check(cuda::add_entries(lane(queue).stream(), entries, count, a.as<double>()), "add_entries");
}

// The keys of the places of a matrix of this size.
PlaceKeys CudaDevice::place_keys(Queue& queue, ConstAnyMatrix a) {
  if (const std::int64_t count = std::max(a.rows, a.columns); count > keyed_ || keyed_ == 0) {
    const std::int64_t bytes =
        std::max<std::int64_t>(count, 1) * std::int64_t{sizeof(std::uint64_t)};
    keys_ = {};  // waits for what reads the old ones
    keyed_ = 0;
    keys_ = allocate(2 * bytes);
    const KeysOfPlaces made(count, count);
    auto* const rows = keys_.as<std::uint64_t>();
    upload(queue, made.rows, rows);
    upload(queue, made.columns, rows + count);
    keyed_ = count;
  }
  const auto* const rows = keys_.as<std::uint64_t>();
  return {rows, rows + keyed_};
}

void CudaDevice::multiply(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                          MatrixView<const double> x, MatrixView<double> ax, double* abs_rows,
                          MatrixView<double> abs_ax, MatrixChecksum* checksum) {
  if (checksum) clear(queue, std::as_writable_bytes(std::span(checksum, 1)));
  const PlaceKeys keys = checksum ? place_keys(queue, a) : PlaceKeys{};
  for (std::int64_t k = 0; k < x.columns; ++k)
    check(cuda::multiply(
              lane(queue).stream(), transpose, a.as<double>(), x.column(k),
              {ax.column(k), k == 0 ? abs_rows : nullptr, abs_ax.data ? abs_ax.column(k) : nullptr,
               k == 0 ? checksum : nullptr, keys}),
          "multiply");
}

void CudaDevice::multiply_extended(Queue& queue, Transpose transpose, ConstAnyMatrix a,
                                   MatrixView<const double> x, MatrixView<double> ax,
                                   double* abs_rows, MatrixView<double> abs_ax,
                                   MatrixChecksum* checksum) {
  if (checksum) clear(queue, std::as_writable_bytes(std::span(checksum, 1)));
  const PlaceKeys keys = checksum ? place_keys(queue, a) : PlaceKeys{};
  const std::int64_t vectors = x.columns / 2;
  for (std::int64_t k = 0; k < vectors; ++k)
    check(cuda::multiply_extended(
              lane(queue).stream(), transpose, a.as<double>(), x.column(k), x.column(vectors + k),
              {ax.column(k), ax.column(vectors + k), ax.column(2 * vectors + k),
               k == 0 ? abs_rows : nullptr, abs_ax.data ? abs_ax.column(k) : nullptr,
               k == 0 ? checksum : nullptr, keys}),
          "multiply_extended");
}

void CudaDevice::largest_of_rows(Queue& queue, ConstAnyMatrix a, const double* scale, double* most,
                                 std::uint64_t* checksums) {
  if (checksums) checksums_of_columns(queue, a, checksums);
  check(cuda::largest_of_rows(lane(queue).stream(), a.as<double>(), scale, most),
        "largest_of_rows");
}

void CudaDevice::largest_of_columns(Queue& queue, ConstAnyMatrix a, const double* scale,
                                    double* most, std::uint64_t* checksums) {
  if (checksums) checksums_of_columns(queue, a, checksums);
  check(cuda::largest_of_columns(lane(queue).stream(), a, scale, most), "largest_of_columns");
}

void CudaDevice::checksums_of_columns(Queue& queue, ConstAnyMatrix a, std::uint64_t* sums) {
  check(cuda::checksums_of_columns(lane(queue).stream(), a.as<double>(), place_keys(queue, a).rows,
                                   sums),
        "checksums_of_columns");
}

void CudaDevice::scale(Queue& queue, ConstAnyMatrix from, const double* row_scale,
                       const double* column_scale, AnyMatrix to) {
  check(cuda::scale(lane(queue).stream(), from.as<double>(), row_scale, column_scale, to), "scale");
}

void CudaDevice::take_magnitudes(Queue& queue, AnyMatrix a) {
  check(cuda::take_magnitudes(lane(queue).stream(), a), "take_magnitudes");
}

}  // namespace speedwell
