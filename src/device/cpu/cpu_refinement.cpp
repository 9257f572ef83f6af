// SPDX-License-Identifier: BSD-3-Clause
// Operations with FP64 vectors and the factors, a benchmark's matrix or a user's matrix. Memory
// bandwidth bounds those with stored matrices.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <complex>
#include <type_traits>
#include <vector>

#include "cpu/vector_loops.hpp"
#include "device/checksum_keys.hpp"
#include "device/cpu/cpu_device.hpp"
#include "device/cpu/dense.hpp"
#include "device/cpu/parts.hpp"
#include "device/cpu/product_parts.hpp"

namespace speedwell {

namespace {

// The largest order of a triangle that plain loops solve with.
constexpr std::int64_t least_product = 32;

// A tile of a matrix that several vectors use in turn: it stays in a core's second-level cache, so
// that it is read from memory once. Its columns are a multiple of those that a loop takes at once,
// so that the order of a row's sum is that without tiles.
constexpr std::int64_t tile_rows = 2048;
constexpr std::int64_t tile_columns = 32;
constexpr std::int64_t long_tile_columns = 1024;  // for one vector: a multiple too

// Calls use(i, j, tile) for the tiles of `a`, of which (i, j) is the first element. For one vector
// a tile has whole columns, since the prefetcher needs long pieces of them. Stops where the run
// has ended.
template <class T, class Use>
void for_each_tile(MatrixView<const T> a, std::int64_t vectors, const RunContext& run,
                   const Use& use) {
  const std::int64_t height = vectors > 1 ? tile_rows : std::max<std::int64_t>(a.rows, 1);
  const std::int64_t width = vectors > 1 ? tile_columns : long_tile_columns;
  for (std::int64_t i = 0; i < a.rows; i += height)
    for (std::int64_t j = 0; j < a.columns && !run.ended(); j += width)
      use(i, j, a.block(i, j, std::min(height, a.rows - i), std::min(width, a.columns - j)));
}

// The k-th unknown that a substitution finds, and the rows of its column off the diagonal.
struct Unknown {
  std::int64_t j;
  std::int64_t begin;
  std::int64_t end;
};

// A substitution goes from the first unknown to the last or from the last to the first.
Unknown unknown(Triangle triangle, Transpose transpose, std::int64_t n, std::int64_t k) {
  const bool lower = triangle == Triangle::unit_lower;
  const std::int64_t j = lower != (transpose == Transpose::yes) ? k : n - 1 - k;
  return lower ? Unknown{j, j + 1, n} : Unknown{j, 0, j};
}

// Substitution. A new unknown is subtracted from the later ones; with the transposed triangle, the
// earlier ones are subtracted from it.
template <class T>
void solve_small(Triangle triangle, Transpose transpose, MatrixView<const T> lu, double* x) {
  const bool lower = triangle == Triangle::unit_lower;
  const bool transposed = transpose == Transpose::yes;
  for (std::int64_t k = 0; k < lu.columns; ++k) {
    const auto [j, begin, end] = unknown(triangle, transpose, lu.columns, k);
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

// The vectors one after the other, with FP64 sums, or all of them as a product of matrices.
void solve(Triangle triangle, Transpose transpose, ConstAnyMatrix any, AnyMatrix x) {
  with_storage(any, [&](const auto& lu) {
    using T = std::remove_cvref_t<decltype(lu(0, 0))>;
    if (Device::as_product(any, x)) return solve_triangle(triangle, transpose, lu, x.as<T>());
    const MatrixView<double> vectors = x.as<double>();
#pragma omp parallel for schedule(static, 1) if (vectors.columns > 1)
    for (std::int64_t k = 0; k < vectors.columns; ++k)
      solve_by_halves(triangle, transpose, lu, vectors.column(k));
  });
}

// Substitution by columns of a complex triangle, with FP64 sums.
template <class T>
void solve_complex(Triangle triangle, Transpose transpose, MatrixView<const std::complex<T>> lu,
                   std::complex<double>* x) {
  const bool lower = triangle == Triangle::unit_lower;
  const bool adjoint = transpose == Transpose::yes;
  for (std::int64_t k = 0; k < lu.columns; ++k) {
    const auto [j, begin, end] = unknown(triangle, transpose, lu.columns, k);
    // Products by hand: those of std::complex look for infinities.
    double re = x[j].real();
    double im = x[j].imag();
    if (adjoint)
      for (std::int64_t i = begin; i < end; ++i) {
        const double a = lu(i, j).real();
        const double b = lu(i, j).imag();
        re -= a * x[i].real() + b * x[i].imag();
        im -= a * x[i].imag() - b * x[i].real();
      }
    if (!lower) {
      const std::complex<double> pivot(lu(j, j));
      const std::complex<double> quotient =
          std::complex<double>(re, im) / (adjoint ? std::conj(pivot) : pivot);
      re = quotient.real();
      im = quotient.imag();
    }
    if (!adjoint)
      for (std::int64_t i = begin; i < end; ++i) {
        const double a = lu(i, j).real();
        const double b = lu(i, j).imag();
        x[i] = {x[i].real() - (a * re - b * im), x[i].imag() - (a * im + b * re)};
      }
    x[j] = {re, im};
  }
}

// Vectors in planes as complex ones.
template <class T>
std::vector<std::complex<T>> from_planes(MatrixView<const T> planes) {
  std::vector<std::complex<T>> all;
  all.reserve(static_cast<std::size_t>(planes.rows * planes.columns / 2));
  for (std::int64_t k = 0; k < planes.columns; k += 2)
    for (std::int64_t i = 0; i < planes.rows; ++i) all.emplace_back(planes(i, k), planes(i, k + 1));
  return all;
}
template <class T>
void to_planes(const std::vector<std::complex<T>>& all, MatrixView<T> planes) {
  auto next = all.begin();
  for (std::int64_t k = 0; k < planes.columns; k += 2)
    for (std::int64_t i = 0; i < planes.rows; ++i, ++next) {
      planes(i, k) = next->real();
      planes(i, k + 1) = next->imag();
    }
}

// As solve(), with a complex triangle and vectors in planes.
void solve_planes(Triangle triangle, Transpose transpose, ConstAnyMatrix any, AnyMatrix planes) {
  const std::int64_t n = planes.rows;
  with_numbers(any, [&](const auto& lu) {
    using Number = std::remove_cvref_t<decltype(lu(0, 0))>;
    if constexpr (field_of<Number> == Field::complex) {
      using T = typename Number::value_type;
      if (Device::as_product(any, planes)) {
        std::vector<Number> x = from_planes<T>(planes.as<T>());
        solve_triangle(
            triangle, transpose, lu,
            MatrixView<Number>{x.data(), n, planes.columns / 2, std::max<std::int64_t>(n, 1)});
        return to_planes(x, planes.as<T>());
      }
      std::vector<std::complex<double>> x = from_planes<double>(planes.as<double>());
#pragma omp parallel for schedule(static, 1) if (planes.columns > 2)
      for (std::int64_t k = 0; k < planes.columns / 2; ++k)
        solve_complex<T>(triangle, transpose, lu, x.data() + k * n);
      to_planes(x, planes.as<double>());
    }
  });
}

// Calls use(sums) with the zeros to which the checksums of a's columns are added; with none if
// `to` is null.
template <class T, class Use>
void with_checksums(MatrixView<const T> a, std::uint64_t* to, const Use& use) {
  if (!to) return use(ColumnChecksums{});
  std::fill_n(to, a.columns + 1, std::uint64_t{0});
  const KeysOfPlaces places(a.rows, 0);
  use(ColumnChecksums{places.rows.data(), to + a.columns, to});
}

// p + i, or null if p is null: a sum that is not wanted.
double* at(double* p, std::int64_t i) {
  return p ? p + i : p;
}

}  // namespace

template <class T>
void CpuDevice::multiply_in_parts(T alpha, MatrixView<const T> a, MatrixView<const T> b,
                                  MatrixView<T> c, Transpose transpose) const {
  const bool transposed = transpose == Transpose::yes;
  const auto [rows, columns] = update_parts(c.rows, c.columns, b.rows, threads_, run().interrupt());
  for (std::int64_t j = 0; j < c.columns; j += columns)
    for (std::int64_t i = 0; i < c.rows && !ended(); i += rows) {
      const std::int64_t m = std::min(rows, c.rows - i);
      const std::int64_t n = std::min(columns, c.columns - j);
      multiply_add(alpha, transposed ? a.block(0, i, a.rows, m) : a.block(i, 0, m, a.columns),
                   b.block(0, j, b.rows, n), c.block(i, j, m, n), transpose);
    }
}
template void CpuDevice::multiply_in_parts(float, MatrixView<const float>, MatrixView<const float>,
                                           MatrixView<float>, Transpose) const;
template void CpuDevice::multiply_in_parts(double, MatrixView<const double>,
                                           MatrixView<const double>, MatrixView<double>,
                                           Transpose) const;
template void CpuDevice::multiply_in_parts(std::complex<float>,
                                           MatrixView<const std::complex<float>>,
                                           MatrixView<const std::complex<float>>,
                                           MatrixView<std::complex<float>>, Transpose) const;
template void CpuDevice::multiply_in_parts(std::complex<double>,
                                           MatrixView<const std::complex<double>>,
                                           MatrixView<const std::complex<double>>,
                                           MatrixView<std::complex<double>>, Transpose) const;

void CpuDevice::subtract_product(Queue&, Transpose transpose, ConstAnyMatrix any, ConstAnyMatrix x,
                                 AnyMatrix y) {
  work([&] {
    const bool transposed = transpose == Transpose::yes;
    with_storage(any, [&](const auto& a) {
      using T = std::remove_cvref_t<decltype(a(0, 0))>;
      if (as_product(any, x))
        return multiply_in_parts<T>(T{-1}, a, x.as<T>(), y.as<T>(), transpose);
      const MatrixView<const double> from = x.as<double>();
      const MatrixView<double> to = y.as<double>();
      in_parts(
          transposed ? a.columns : a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
            const auto part =
                transposed ? a.block(0, begin, a.rows, count) : a.block(begin, 0, count, a.columns);
            const auto subtract = [&](std::int64_t i, std::int64_t j, MatrixView<const T> tile) {
              for (std::int64_t k = 0; k < from.columns; ++k)
                take_product(transpose, tile, from.column(k) + (transposed ? i : j),
                             to.column(k) + begin + (transposed ? j : i));
            };
            for_each_tile<T>(part, from.columns, run(), subtract);
          });
    });
  });
}

void CpuDevice::solve_lower(Queue&, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) {
  work([&] {
    const auto solver = lu.field == Field::complex ? &solve_planes : &solve;
    solver(Triangle::unit_lower, transpose, lu, x);
  });
}

void CpuDevice::solve_upper(Queue&, Transpose transpose, ConstAnyMatrix lu, AnyMatrix x) {
  work([&] {
    const auto solver = lu.field == Field::complex ? &solve_planes : &solve;
    solver(Triangle::upper, transpose, lu, x);
  });
}

void CpuDevice::add(Queue&, ConstAnyMatrix x, AnyMatrix y) {
  work_on(y, [&](const auto& to) {
    const auto from = x.as<std::remove_cvref_t<decltype(to(0, 0))>>();
    for (std::int64_t j = 0; j < to.columns; ++j)
      for (std::int64_t i = 0; i < to.rows; ++i) to(i, j) += from(i, j);
  });
}

void CpuDevice::add_pairs(Queue&, Pairs pairs, ConstAnyMatrix x, AnyMatrix y) {
  work_on(y, [&](const auto& to) {
    const auto from = x.as<std::remove_cvref_t<decltype(to(0, 0))>>();
    const bool sums = pairs == Pairs::sums;
    for (std::int64_t k = 0; k < to.columns; k += 2)
      for (std::int64_t i = 0; i < to.rows; ++i) {
        to(i, k) += from(2 * i, k) - (sums ? from(2 * i + 1, k + 1) : 0);
        to(i, k + 1) += from(2 * i + 1, k) + (sums ? from(2 * i, k + 1) : 0);
      }
  });
}

void CpuDevice::spread_pairs(Queue&, ConstAnyMatrix x, AnyMatrix y) {
  work_on(y, [&](const auto& to) {
    const auto from = x.as<std::remove_cvref_t<decltype(to(0, 0))>>();
    for (std::int64_t k = 0; k < from.columns; k += 2)
      for (std::int64_t i = 0; i < from.rows; ++i) {
        to(2 * i, k) = from(i, k);
        to(2 * i + 1, k) = from(i, k + 1);
        to(2 * i, k + 1) = from(i, k + 1);
        to(2 * i + 1, k + 1) = -from(i, k);
      }
  });
}

void CpuDevice::multiply_generated(Queue&, const MatrixSpec& spec, const Distribution& rows,
                                   const Distribution& columns, const double* x, double* ax,
                                   double* abs_rows, double* abs_ax) {
  work([&] {
    const auto add = [](double* p, std::int64_t i, double value) {
      if (p) p[i] += value;
    };
    const Loops& loop = loops();
    const std::vector<Run> column_runs = columns.runs();
#pragma omp parallel for schedule(dynamic)
    for (std::int64_t s = 0; s < ceil_div(rows.local_size(), strip); ++s) {
      if (ended()) continue;
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
  });
}

void CpuDevice::multiply(Queue&, Transpose transpose, ConstAnyMatrix a, MatrixView<const double> x,
                         MatrixView<double> ax, double* abs_rows, MatrixView<double> abs_ax,
                         MatrixChecksum* checksum) {
  multiply_in_pass(transpose, a.as<double>(), false, x, ax, abs_rows, abs_ax, checksum);
}

void CpuDevice::multiply_extended(Queue&, Transpose transpose, ConstAnyMatrix a,
                                  MatrixView<const double> x, MatrixView<double> ax,
                                  double* abs_rows, MatrixView<double> abs_ax,
                                  MatrixChecksum* checksum) {
  multiply_in_pass(transpose, a.as<double>(), true, x, ax, abs_rows, abs_ax, checksum);
}

void CpuDevice::multiply_in_pass(Transpose transpose, MatrixView<const double> a, bool extended,
                                 MatrixView<const double> x, MatrixView<double> ax,
                                 double* abs_rows, MatrixView<double> abs_ax,
                                 MatrixChecksum* checksum) const {
  work([&] {
    const KeysOfPlaces places(checksum ? a.rows : 0, checksum ? a.columns : 0);
    std::atomic<std::uint64_t> bits_of_parts = 0;
    std::atomic<std::uint64_t> places_of_parts = 0;
    const bool transposed = transpose == Transpose::yes;
    const std::int64_t vectors = extended ? x.columns / 2 : x.columns;
    const VectorLoops& loops = vector_loops();
    const auto plain = transposed ? loops.multiply_transposed : loops.multiply;
    const auto twice = transposed ? loops.multiply_transposed_extended : loops.multiply_extended;
    in_parts(
        transposed ? a.columns : a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
          MatrixChecksum of_part{};
          const auto sums = [&](std::int64_t i, std::int64_t k) -> RowSums {
            return {ax.column(k) + i,
                    k == 0 ? at(abs_rows, i) : nullptr,
                    abs_ax.data ? abs_ax.column(k) + i : nullptr,
                    k == 0 && checksum != nullptr ? &of_part : nullptr,
                    extended ? ax.column(vectors + k) + i : nullptr,
                    extended ? ax.column(2 * vectors + k) + i : nullptr};
          };
          for (std::int64_t k = 0; k < vectors; ++k) {
            const RowSums of_vector = sums(begin, k);
            for (double* p : {of_vector.ax, of_vector.abs_rows, of_vector.abs_ax, of_vector.ax_low,
                              of_vector.a_x_low})
              if (p) std::fill_n(p, count, 0.0);
          }
          const auto add = [&](std::int64_t i, std::int64_t j, MatrixView<const double> tile) {
            const std::int64_t from = transposed ? i : j;
            const std::int64_t to = begin + (transposed ? j : i);
            for (std::int64_t k = 0; k < vectors; ++k) {
              RowSums of_tile = sums(to, k);
              if (of_tile.checksum)
                of_tile.keys = places.keys().from(transposed ? i : to, transposed ? to : j);
              if (extended)
                twice(tile, x.column(k) + from, x.column(vectors + k) + from, of_tile);
              else
                plain(tile, x.column(k) + from, of_tile);
            }
          };
          for_each_tile<double>(
              transposed ? a.block(0, begin, a.rows, count) : a.block(begin, 0, count, a.columns),
              vectors, run(), add);
          bits_of_parts += of_part.bits;
          places_of_parts += of_part.places;
        });
    if (checksum) *checksum = {bits_of_parts, places_of_parts};
  });
}

void CpuDevice::add_entries(Queue&, const MatrixEntry* entries, std::int64_t count, AnyMatrix any) {
  work([&] {
    const MatrixView<double> a = any.as<double>();
    for (const MatrixEntry& e : std::span(entries, static_cast<std::size_t>(count)))
      a(e.row, e.column) += e.value;
  });
}

void CpuDevice::largest_of_rows(Queue&, ConstAnyMatrix any, const double* scale, double* most,
                                std::uint64_t* checksums) {
  work([&] {
    const MatrixView<const double> a = any.as<double>();
    with_checksums(a, checksums, [&](const ColumnChecksums& sums) {
      in_parts(a.rows, threads_, [&](std::int64_t begin, std::int64_t count) {
        vector_loops().largest_of_rows(a.block(begin, 0, count, a.columns), scale, most + begin,
                                       sums.from(begin, 0));
      });
    });
  });
}

void CpuDevice::largest_of_columns(Queue&, ConstAnyMatrix any, const double* scale, double* most,
                                   std::uint64_t* checksums) {
  work_on(any, [&](const auto& a) {
    using T = std::remove_cvref_t<decltype(a(0, 0))>;
    with_checksums(a, checksums, [&](const ColumnChecksums& sums) {
      in_parts(a.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
        vector_loops().of<T>().largest_of_columns(a.block(0, begin, a.rows, count), scale,
                                                  most + begin, sums.from(0, begin));
      });
    });
  });
}

void CpuDevice::checksums_of_columns(Queue&, ConstAnyMatrix any, std::uint64_t* to) {
  work([&] {
    const MatrixView<const double> a = any.as<double>();
    with_checksums(a, to, [&](const ColumnChecksums& sums) {
      in_parts(a.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
        vector_loops().checksums_of_columns(a.block(0, begin, a.rows, count), sums.from(0, begin));
      });
    });
  });
}

void CpuDevice::scale(Queue&, ConstAnyMatrix from, const double* row_scale,
                      const double* column_scale, AnyMatrix to) {
  work([&] {
    const MatrixView<const double> source = from.as<double>();
    with_storage(to, [&](const auto& target) {
      using T = std::remove_reference_t<decltype(target(0, 0))>;
      in_parts(source.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
        const std::int64_t end = begin + count;
        for (std::int64_t j = begin; j < end && !ended(); j += strip) {
          const std::int64_t n = std::min(strip, end - j);
          vector_loops().of<T>().scale(source.block(0, j, source.rows, n), row_scale,
                                       column_scale ? column_scale + j : nullptr,
                                       target.block(0, j, source.rows, n));
        }
      });
    });
  });
}

void CpuDevice::take_magnitudes(Queue&, AnyMatrix any) {
  work_on(any, [&](const auto& a) {
    in_parts(a.columns, threads_, [&](std::int64_t begin, std::int64_t count) {
      for (std::int64_t j = begin; j < begin + count; ++j)
        for (std::int64_t i = 0; i < a.rows; ++i) a(i, j) = std::fabs(a(i, j));
    });
  });
}

}  // namespace speedwell
