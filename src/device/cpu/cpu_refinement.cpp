// SPDX-License-Identifier: BSD-3-Clause
// Operations with FP64 vectors and the factors, a benchmark's matrix or a user's matrix. Memory
// bandwidth bounds those with stored matrices.
#include <cmath>
#include <type_traits>
#include <vector>

#include "cpu/vector_loops.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/parts.hpp"
#include "device/cpu/thread_scope.hpp"

namespace lupine {

namespace {

// The largest order of a triangle that plain loops solve with.
constexpr std::int64_t least_product = 32;

enum class Triangle { unit_lower, upper };

// Substitution, from the first unknown to the last or from the last to the first. A new unknown is
// subtracted from the later ones; with the transposed triangle, the earlier ones are subtracted
// from it.
template <class T>
void solve_small(Triangle triangle, Transpose transpose, MatrixView<const T> lu, double* x) {
  const bool lower = triangle == Triangle::unit_lower;
  const bool transposed = transpose == Transpose::yes;
  const std::int64_t n = lu.columns;
  for (std::int64_t k = 0; k < n; ++k) {
    const std::int64_t j = lower != transposed ? k : n - 1 - k;
    const std::int64_t begin = lower ? j + 1 : 0;
    const std::int64_t end = lower ? n : j;
    double xj = x[j];
    if (transposed)
      for (std::int64_t i = begin; i < end; ++i) xj -= static_cast<double>(lu(i, j)) * x[i];
    if (!lower) xj /= static_cast<double>(lu(j, j));
    if (!transposed)
      for (std::int64_t i = begin; i < end; ++i) x[i] -= static_cast<double>(lu(i, j)) * xj;
    x[j] = xj;
  }
}

template <class T>
void take_product(Transpose transpose, MatrixView<const T> a, const double* x, double* y) {
  const StoredVectorLoops<T>& loops = vector_loops().of<T>();
  (transpose == Transpose::yes ? loops.subtract_transposed : loops.subtract_product)(a, x, y);
}

// Splits the triangle into halves, so that most of the work is products.
template <class T>
void solve_by_halves(Triangle triangle, Transpose transpose, MatrixView<const T> lu, double* x) {
  const std::int64_t n = lu.columns;
  if (n <= least_product) return solve_small(triangle, transpose, lu, x);
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t h = n / 2;
  const MatrixView<const T> first = lu.block(0, 0, h, h);
  const MatrixView<const T> second = lu.block(h, h, n - h, n - h);
  const MatrixView<const T> between = lower ? lu.block(h, 0, n - h, h) : lu.block(0, h, h, n - h);
  if (lower != (transpose == Transpose::yes)) {
    solve_by_halves(triangle, transpose, first, x);
    take_product(transpose, between, x, x + h);
    solve_by_halves(triangle, transpose, second, x + h);
  } else {
    solve_by_halves(triangle, transpose, second, x + h);
    take_product(transpose, between, x + h, x);
    solve_by_halves(triangle, transpose, first, x);
  }
}

void solve(Triangle triangle, Transpose transpose, ConstAnyMatrix lu, double* x) {
  with_storage(lu, [&](const auto& block) { solve_by_halves(triangle, transpose, block, x); });
}

// p + i, or null if p is null: a sum that is not wanted.
double* at(double* p, std::int64_t i) {
  return p ? p + i : p;
}

}  // namespace

void CpuDevice::subtract_product(Queue&, Transpose transpose, ConstAnyMatrix any, const double* x,
                                 double* y) {
  const ThreadScope scope(threads_);
  const bool transposed = transpose == Transpose::yes;
  with_storage(any, [&](const auto& a) {
    in_parts(
        transposed ? a.columns : a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
          take_product(
              transpose,
              transposed ? a.block(0, begin, a.rows, count) : a.block(begin, 0, count, a.columns),
              x, y + begin);
        });
  });
}

void CpuDevice::solve_lower(Queue&, Transpose transpose, ConstAnyMatrix lu, double* x) {
  solve(Triangle::unit_lower, transpose, lu, x);
}

void CpuDevice::solve_upper(Queue&, Transpose transpose, ConstAnyMatrix lu, double* x) {
  solve(Triangle::upper, transpose, lu, x);
}

void CpuDevice::add(Queue&, std::int64_t n, const double* x, double* y) {
  for (std::int64_t i = 0; i < n; ++i) y[i] += x[i];
}

void CpuDevice::multiply_generated(Queue&, const MatrixSpec& spec, const Distribution& rows,
                                   const Distribution& columns, const double* x, double* ax,
                                   double* abs_rows, double* abs_ax) {
  const ThreadScope scope(threads_);
  const auto add = [](double* p, std::int64_t i, double value) {
    if (p) p[i] += value;
  };
  const Loops& loop = loops();
  const std::vector<Run> column_runs = columns.runs();
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t s = 0; s < ceil_div(rows.local_size(), strip); ++s) {
    const std::int64_t begin = s * strip;
    const std::int64_t end = std::min(begin + strip, rows.local_size());
    for (double* p : {ax, abs_rows, abs_ax})
      if (p) std::fill(p + begin, p + end, 0.0);
    for (std::int64_t i = begin; i < end;) {
      const GlobalIndex g = rows.global({i});
      std::int64_t m = 1;
      while (i + m < end && rows.global({i + m}) == g + m) ++m;
      for (const Run& c : column_runs)
        loop.multiply(spec, g.value, m, c.global.value, c.length, x + c.local.value,
                      {at(ax, i), at(abs_rows, i), at(abs_ax, i)});
      i += m;
    }
    // The loops take a_ii for a regular entry: add the difference to the diagonal entry.
    for (std::int64_t i = begin; i < end; ++i) {
      const GlobalIndex g = rows.global({i});
      if (!columns.mine(g)) continue;
      const double regular = spec.regular(g.value, g.value);
      const double entry = spec.diagonal_entry(g.value, regular);
      const double xi = x[columns.local(g).value];
      add(ax, i, (entry - regular) * xi);
      add(abs_rows, i, std::fabs(entry) - std::fabs(regular));
      add(abs_ax, i, (std::fabs(entry) - std::fabs(regular)) * std::fabs(xi));
    }
  }
}

void CpuDevice::multiply(Queue&, ConstAnyMatrix any, const double* x, double* ax, double* abs_rows,
                         double* abs_ax) {
  const ThreadScope scope(threads_);
  const MatrixView<const double> a = any.as<double>();
  in_parts(a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
    const RowSums sums{at(ax, begin), at(abs_rows, begin), at(abs_ax, begin)};
    for (double* p : {sums.ax, sums.abs_rows, sums.abs_ax})
      if (p) std::fill_n(p, count, 0.0);
    vector_loops().multiply(a.block(begin, 0, count, a.columns), x, sums);
  });
}

void CpuDevice::add_entries(Queue&, const MatrixEntry* entries, std::int64_t count, AnyMatrix any) {
  const MatrixView<double> a = any.as<double>();
  for (const MatrixEntry& e : std::span(entries, static_cast<std::size_t>(count)))
    a(e.row, e.column) += e.value;
}

void CpuDevice::largest_of_rows(Queue&, ConstAnyMatrix any, const double* scale, double* most) {
  const ThreadScope scope(threads_);
  const MatrixView<const double> a = any.as<double>();
  in_parts(a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
    vector_loops().largest_of_rows(a.block(begin, 0, count, a.columns), scale, most + begin);
  });
}

void CpuDevice::largest_of_columns(Queue&, ConstAnyMatrix any, const double* scale, double* most) {
  const ThreadScope scope(threads_);
  const MatrixView<const double> a = any.as<double>();
  in_parts(a.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
    vector_loops().largest_of_columns(a.block(0, begin, a.rows, count), scale, most + begin);
  });
}

void CpuDevice::scale(Queue&, ConstAnyMatrix from, const double* row_scale,
                      const double* column_scale, AnyMatrix to) {
  const ThreadScope scope(threads_);
  const MatrixView<const double> source = from.as<double>();
  with_storage(to, [&](const auto& target) {
    using T = std::remove_reference_t<decltype(target(0, 0))>;
    in_parts(source.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
      vector_loops().of<T>().scale(source.block(0, begin, source.rows, count), row_scale,
                                   column_scale ? column_scale + begin : nullptr,
                                   target.block(0, begin, source.rows, count));
    });
  });
}

}  // namespace lupine
