// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, into the namespace SPEEDWELL_ISA: see loops_isa.cpp. All
// copies sum in the same number of lanes, whatever the width of a vector, so that results are
// equal.
#include <cstddef>
#include <cstring>
#include <type_traits>

#include "cpu/checksum_loops.hpp"
#include "cpu/instructions.hpp"
#include "cpu/vector_loops.hpp"
#include "cpu/width.hpp"
#include "element/element.hpp"
#include "element/two_sum.hpp"

namespace speedwell::SPEEDWELL_ISA {

namespace {

constexpr int lanes = 8;
constexpr int width = vector_bytes / 8;
constexpr int parts = lanes / width;  // vectors of so many lanes
using Doubles = double __attribute__((vector_size(width * 8)));
using Floats = float __attribute__((vector_size(width * 4)));

// Columns that a pass over the rows takes at once: the prefetcher can follow as many streams, and
// the rows' sums are read from the cache once for all of them.
constexpr int streams = 8;

SPEEDWELL_ELEMENT double sum_of(const double (&v)[streams]) {
  return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
}

// How far apart the renormalizations of a sum in twice FP64's precision are: its low part then
// stays so small that its own roundings, some eps of it, do not count.
constexpr int terms_between = 8;

// (sums.ax_i, sums.ax_low_i) += sum_k a_ik s_k, and sums.a_x_low_i += sum_k a_ik s_low_k;
// term[k] <- a_ik s_k.
SPEEDWELL_ELEMENT void add_extended(const double (&a)[streams], const double (&s)[streams],
                                    const double (&s_low)[streams], std::int64_t i,
                                    const RowSums& sums, double (&term)[streams]) {
#pragma GCC unroll 8
  for (int k = 0; k < streams; ++k) term[k] = a[k] * s_low[k];
  sums.a_x_low[i] += sum_of(term);
  double high = sums.ax[i];
  double low = sums.ax_low[i];
#pragma GCC unroll 8
  for (int k = 0; k < streams; ++k) {
    const WithError<double> product = two_product(a[k], s[k]);
    const WithError<double> sum = two_sum(high, product.value);
    high = sum.value;
    low += sum.error + product.error;
    term[k] = product.value;
  }
  const WithError<double> normal = two_sum(high, low);
  sums.ax[i] = normal.value;
  sums.ax_low[i] = normal.error;
}

// sums.ax += sign A x for several columns, and some of their rows from i on; and in the same pass,
// if asked for, the sums of magnitudes. Extended: (sums.ax, sums.ax_low) += A x and sums.a_x_low +=
// A x_low.
template <bool extended, bool with_rows, bool with_abs_ax, class T>
SPEEDWELL_ELEMENT void add_streams(MatrixView<const T> a, double sign, const double* x,
                                   const double* x_low, std::int64_t begin, std::int64_t count,
                                   const RowSums& sums) {
  static_assert(streams == terms_between);
  const T* c0 = a.data;
  const std::int64_t ld = a.ld;
  double s[streams];
  double s_low[streams];
  for (int k = 0; k < streams; ++k) s[k] = sign * x[k];
  if constexpr (extended)
    for (int k = 0; k < streams; ++k) s_low[k] = x_low[k];
  SPEEDWELL_INDEPENDENT
  for (std::int64_t i = begin; i < begin + count; ++i) {
    double value[streams];
    double term[streams];
#pragma GCC unroll 8
    for (int k = 0; k < streams; ++k) value[k] = static_cast<double>(c0[i + k * ld]);
    if constexpr (extended) {
      add_extended(value, s, s_low, i, sums, term);
    } else {
#pragma GCC unroll 8
      for (int k = 0; k < streams; ++k) term[k] = value[k] * s[k];
      sums.ax[i] += sum_of(term);
    }
    if constexpr (with_abs_ax) {
#pragma GCC unroll 8
      for (int k = 0; k < streams; ++k) term[k] = __builtin_fabs(term[k]);
      sums.abs_ax[i] += sum_of(term);
    }
    if constexpr (with_rows) {
#pragma GCC unroll 8
      for (int k = 0; k < streams; ++k) value[k] = __builtin_fabs(value[k]);
      sums.abs_rows[i] += sum_of(value);
    }
  }
}

// The same for one column.
template <bool extended, bool with_rows, bool with_abs_ax, class T>
SPEEDWELL_ELEMENT void add_column(const T* column, double s, double s_low, std::int64_t begin,
                                  std::int64_t count, const RowSums& sums) {
  SPEEDWELL_INDEPENDENT
  for (std::int64_t i = begin; i < begin + count; ++i) {
    const auto value = static_cast<double>(column[i]);
    if constexpr (extended) {
      const WithError<double> product = two_product(value, s);
      add_pair(sums.ax[i], sums.ax_low[i], product.value, product.error);
      sums.a_x_low[i] += value * s_low;
    } else {
      sums.ax[i] += value * s;
    }
    if constexpr (with_abs_ax) sums.abs_ax[i] += __builtin_fabs(value * s);
    if constexpr (with_rows) sums.abs_rows[i] += __builtin_fabs(value);
  }
}

// The sums over all columns, and the checksum if asked for.
template <bool extended, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
SPEEDWELL_ELEMENT void add_columns(MatrixView<const T> a, double sign, const double* x,
                                   const double* x_low, RowSums sums) {
  std::int64_t j = 0;
  for (; j + streams <= a.columns; j += streams) {
    const MatrixView<const T> some = a.block(0, j, a.rows, streams);
    Words bits{};
    Words places[streams]{};
    in_blocks<with_checksum>(some, sums.keys.rows, bits, places,
                             [&](std::int64_t i, std::int64_t count) {
                               add_streams<extended, with_rows, with_abs_ax>(
                                   some, sign, x + j, extended ? x_low + j : x_low, i, count, sums);
                             });
    if constexpr (with_checksum) add_to_whole(sums, j, bits, places);
  }
  for (; j < a.columns; ++j) {
    Words bits{};
    Words places[1]{};
    in_blocks<with_checksum>(a.block(0, j, a.rows, 1), sums.keys.rows, bits, places,
                             [&](std::int64_t i, std::int64_t count) {
                               add_column<extended, with_rows, with_abs_ax>(
                                   a.column(j), sign * x[j], extended ? x_low[j] : 0, i, count,
                                   sums);
                             });
    if constexpr (with_checksum) add_to_whole(sums, j, bits, places);
  }
}

template <class T>
void subtract_product(MatrixView<const T> a, const double* x, double* y) {
  add_columns<false, false, false, false>(a, -1, x, nullptr, {y, nullptr, nullptr, nullptr});
}

// Calls use<with_rows, with_abs_ax, with_checksum>() for the sums that are asked for.
template <bool... with, class Use>
void with_sums(const RowSums& sums, const Use& use) {
  if constexpr (sizeof...(with) == 3) {
    use.template operator()<with...>();
  } else {
    const bool wanted[] = {sums.abs_rows != nullptr, sums.abs_ax != nullptr,
                           sums.checksum != nullptr};
    wanted[sizeof...(with)] ? with_sums<with..., true>(sums, use)
                            : with_sums<with..., false>(sums, use);
  }
}

void multiply(MatrixView<const double> a, const double* x, RowSums sums) {
  with_sums(
      sums, [&]<bool... with>() { add_columns<false, with...>(a, 1, x, nullptr, sums); });
}

void multiply_extended(MatrixView<const double> a, const double* x, const double* x_low,
                       RowSums sums) {
  with_sums(
      sums, [&]<bool... with>() { add_columns<true, with...>(a, 1, x, x_low, sums); });
}

SPEEDWELL_ELEMENT Doubles load(const double* from) {
  Doubles values;
  std::memcpy(&values, from, sizeof(values));
  return values;
}
SPEEDWELL_ELEMENT Doubles load(const float* from) {
  Floats values;
  std::memcpy(&values, from, sizeof(values));
  return __builtin_convertvector(values, Doubles);
}

SPEEDWELL_ELEMENT Doubles magnitudes(Doubles values) {
  return (Doubles)((Words)values & ~(std::uint64_t{1} << 63));
}

SPEEDWELL_ELEMENT WithError<Doubles> two_product(Doubles a, Doubles b) {
  const Doubles product = a * b;
  Doubles error;
  for (int k = 0; k < width; ++k) error[k] = __builtin_fma(a[k], b[k], -product[k]);
  return {product, error};
}

// The sum of the lanes of one column's vectors.
SPEEDWELL_ELEMENT double sum_of_lanes(const Doubles* vectors) {
  double of_lanes[lanes];
  std::memcpy(of_lanes, vectors, sizeof(of_lanes));
  return sum_of(of_lanes);
}

// (high, low) += the lanes of one column's sums in twice FP64's precision.
SPEEDWELL_ELEMENT void add_lanes(const Doubles* highs, const Doubles* lows, double& high,
                                 double& low) {
  double of_highs[lanes];
  double of_lows[lanes];
  std::memcpy(of_highs, highs, sizeof(of_highs));
  std::memcpy(of_lows, lows, sizeof(of_lows));
  for (int k = 0; k < lanes; ++k) add_pair(high, low, of_highs[k], of_lows[k]);
}

SPEEDWELL_ELEMENT void renormalize(Doubles* highs, Doubles* lows, int count) {
  for (int k = 0; k < count; ++k) {
    const WithError<Doubles> normal = two_sum(highs[k], lows[k]);
    highs[k] = normal.value;
    lows[k] = normal.error;
  }
}

// sums.ax_j += sign a_j^T x for several columns a_j at once; and in the same pass, if asked for,
// the sums of magnitudes and the checksum. Each column has its own lanes of sums. Extended: as in
// add_streams().
template <bool extended, bool with_rows, bool with_abs_ax, bool with_checksum, int columns, class T>
SPEEDWELL_ELEMENT void add_dots(MatrixView<const T> a, double sign, const double* x,
                                const double* x_low, RowSums sums) {
  Doubles ax[columns][parts]{};
  Doubles ax_low[columns][parts]{};
  Doubles a_x_low[columns][parts]{};
  Doubles abs_ax[columns][parts]{};
  Doubles abs_rows[columns][parts]{};
  Words bits{};
  Words places[columns]{};
  const auto add = [&](const double* xi, const double* xi_low, const T* ai, std::int64_t ld) {
#pragma GCC unroll 4
    for (std::ptrdiff_t p = 0; p < parts; ++p) {
      const Doubles xp = load(xi + p * width);
#pragma GCC unroll 8
      for (int c = 0; c < columns; ++c) {
        const Doubles value = load(ai + c * ld + p * width);
        const Doubles term = value * xp;
        if constexpr (extended) {
          const WithError<Doubles> product = two_product(value, xp);
          const WithError<Doubles> sum = two_sum(ax[c][p], product.value);
          ax[c][p] = sum.value;
          ax_low[c][p] += sum.error + product.error;
          a_x_low[c][p] += value * load(xi_low + p * width);
        } else {
          ax[c][p] += term;
        }
        if constexpr (with_abs_ax) abs_ax[c][p] += magnitudes(term);
        if constexpr (with_rows) abs_rows[c][p] += magnitudes(value);
      }
    }
  };
  const std::int64_t whole = a.rows / lanes * lanes;
  static_assert(checksum_rows % lanes == 0);
  in_blocks<with_checksum>(a, sums.keys.rows, bits, places,
                           [&](std::int64_t begin, std::int64_t count) {
                             const std::int64_t end = begin + count < whole ? begin + count : whole;
                             for (std::int64_t i = begin; i < end; i += lanes) {
                               add(x + i, extended ? x_low + i : nullptr, a.data + i, a.ld);
                               if constexpr (extended)
                                 if (i / lanes % terms_between == terms_between - 1)
                                   renormalize(&ax[0][0], &ax_low[0][0], columns * parts);
                             }
                           });
  if (const std::int64_t i = whole; i < a.rows) {
    const auto rest = static_cast<std::size_t>(a.rows - i);
    double x_rest[lanes]{};
    double x_low_rest[lanes]{};
    T a_rest[columns * lanes]{};
    std::memcpy(x_rest, x + i, rest * sizeof(double));
    if constexpr (extended) std::memcpy(x_low_rest, x_low + i, rest * sizeof(double));
    for (int c = 0; c < columns; ++c)
      std::memcpy(a_rest + c * lanes, a.column(c) + i, rest * sizeof(T));
    add(x_rest, x_low_rest, a_rest, lanes);
  }
  for (int c = 0; c < columns; ++c) {
    if constexpr (extended) {
      add_lanes(ax[c], ax_low[c], sums.ax[c], sums.ax_low[c]);
      sums.a_x_low[c] += sum_of_lanes(a_x_low[c]);
    } else {
      sums.ax[c] += sign * sum_of_lanes(ax[c]);
    }
    if constexpr (with_abs_ax) sums.abs_ax[c] += sum_of_lanes(abs_ax[c]);
    if constexpr (with_rows) sums.abs_rows[c] += sum_of_lanes(abs_rows[c]);
  }
  if constexpr (with_checksum) add_to_whole(sums, 0, bits, places);
}

// As many columns at once as their sums fit into registers: more streams of memory, and x is read
// less often.
template <bool extended, bool with_rows, bool with_abs_ax, bool with_checksum, class T>
void add_all_dots(MatrixView<const T> a, double sign, const double* x, const double* x_low,
                  RowSums sums) {
  constexpr int registers = vector_bytes == 64 ? 32 : 16;
  constexpr int plain = registers == 32 ? 8 : with_rows || with_abs_ax ? 2 : 4;
  constexpr int columns = extended ? registers / 8 : plain;
  const auto from = [](double* p, std::int64_t j) { return p ? p + j : p; };
  const auto add = [&]<int count>(std::int64_t j, std::integral_constant<int, count>) {
    add_dots<extended, with_rows, with_abs_ax, with_checksum, count>(
        a.block(0, j, a.rows, count), sign, x, x_low,
        {from(sums.ax, j), from(sums.abs_rows, j), from(sums.abs_ax, j), sums.checksum,
         from(sums.ax_low, j), from(sums.a_x_low, j),
         with_checksum ? sums.keys.from(0, j) : sums.keys});
  };
  std::int64_t j = 0;
  for (; j + columns <= a.columns; j += columns) add(j, std::integral_constant<int, columns>());
  for (; j < a.columns; ++j) add(j, std::integral_constant<int, 1>());
}

template <class T>
void subtract_transposed(MatrixView<const T> a, const double* x, double* y) {
  add_all_dots<false, false, false, false>(a, -1, x, nullptr, {y, nullptr, nullptr, nullptr});
}

void multiply_transposed(MatrixView<const double> a, const double* x, RowSums sums) {
  with_sums(
      sums, [&]<bool... with>() { add_all_dots<false, with...>(a, 1, x, nullptr, sums); });
}

void multiply_transposed_extended(MatrixView<const double> a, const double* x, const double* x_low,
                                  RowSums sums) {
  with_sums(
      sums, [&]<bool... with>() { add_all_dots<true, with...>(a, 1, x, x_low, sums); });
}

// Row scales first: those of callers leave |rows_i from_ij| near 1 or below, so nothing overflows.
template <class T>
void scale(MatrixView<const double> from, const double* rows, const double* columns,
           MatrixView<T> to) {
  for (std::int64_t j = 0; j < from.columns; ++j) {
    const double factor = columns ? columns[j] : 1;
    const double* source = from.column(j);
    T* target = to.column(j);
    if (rows) {
      SPEEDWELL_INDEPENDENT
      for (std::int64_t i = 0; i < from.rows; ++i)
        target[i] = static_cast<T>((rows[i] * source[i]) * factor);
    } else {
      SPEEDWELL_INDEPENDENT
      for (std::int64_t i = 0; i < from.rows; ++i) target[i] = static_cast<T>(source[i] * factor);
    }
  }
}

// Magnitudes compare as their bits do, as integers. Inf and NaN are above every finite number.
using Bits = std::int64_t;
constexpr Bits infinity = 0x7ff0000000000000;

SPEEDWELL_ELEMENT Bits magnitude(double value) {
  return __builtin_bit_cast(Bits, value) & ~(Bits{1} << 63);
}
SPEEDWELL_ELEMENT Bits larger(Bits a, Bits b) {
  return a > b ? a : b;
}
SPEEDWELL_ELEMENT double value_of(Bits bits) {
  return __builtin_bit_cast(double, bits < infinity ? bits : infinity);
}

template <int columns, bool with_checksums>
SPEEDWELL_ELEMENT void raise_rows(MatrixView<const double> a, const double* scale, double* most,
                                  const ColumnChecksums& checksums, std::int64_t j) {
  double s[columns];
  for (int k = 0; k < columns; ++k) s[k] = scale ? scale[j + k] : 1;
  const double* c0 = a.column(j);
  const std::int64_t ld = a.ld;
  Words bits{};
  Words places[columns]{};
  in_blocks<with_checksums>(a.block(0, j, a.rows, columns), checksums.row_keys, bits, places,
                            [&](std::int64_t begin, std::int64_t count) {
                              SPEEDWELL_INDEPENDENT
                              for (std::int64_t i = begin; i < begin + count; ++i) {
                                Bits largest = magnitude(most[i]);
#pragma GCC unroll 8
                                for (int k = 0; k < columns; ++k)
                                  largest = larger(magnitude(c0[i + k * ld] * s[k]), largest);
                                most[i] = value_of(largest);
                              }
                            });
  if constexpr (with_checksums) add_to_columns(checksums, j, bits, places);
}

template <bool with_checksums>
void raise_all_rows(MatrixView<const double> a, const double* scale, double* most,
                    const ColumnChecksums& checksums) {
  std::int64_t j = 0;
  for (; j + streams <= a.columns; j += streams)
    raise_rows<streams, with_checksums>(a, scale, most, checksums, j);
  for (; j < a.columns; ++j) raise_rows<1, with_checksums>(a, scale, most, checksums, j);
}

void largest_of_rows(MatrixView<const double> a, const double* scale, double* most,
                     ColumnChecksums checksums) {
  for (std::int64_t i = 0; i < a.rows; ++i) most[i] = 0;
  (checksums.row_keys ? raise_all_rows<true> : raise_all_rows<false>)(a, scale, most, checksums);
}

template <bool with_checksums, class T>
void largest_of_all_columns(MatrixView<const T> a, const double* scale, double* most,
                            const ColumnChecksums& checksums) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    const T* column = a.column(j);
    Bits largest = 0;
    Words bits{};
    Words places[1]{};
    in_blocks<with_checksums>(a.block(0, j, a.rows, 1), checksums.row_keys, bits, places,
                              [&](std::int64_t begin, std::int64_t count) {
                                if (scale)
                                  for (std::int64_t i = begin; i < begin + count; ++i)
                                    largest = larger(magnitude(scale[i] * column[i]), largest);
                                else
                                  for (std::int64_t i = begin; i < begin + count; ++i)
                                    largest = larger(magnitude(column[i]), largest);
                              });
    most[j] = value_of(largest);
    if constexpr (with_checksums) add_to_columns(checksums, j, bits, places);
  }
}

template <class T>
void largest_of_columns(MatrixView<const T> a, const double* scale, double* most,
                        ColumnChecksums checksums) {
  if constexpr (sizeof(T) == sizeof(double))
    if (checksums.row_keys) return largest_of_all_columns<true>(a, scale, most, checksums);
  largest_of_all_columns<false>(a, scale, most, checksums);
}

void checksums_of_columns(MatrixView<const double> a, ColumnChecksums checksums) {
  for (std::int64_t j = 0; j < a.columns; ++j) {
    Words bits{};
    Words places[1]{};
    add_checksum(a.column(j), checksums.row_keys, a.rows, bits, places[0]);
    add_to_columns(checksums, j, bits, places);
  }
}

template <class T>
constexpr StoredVectorLoops<T> stored_loops{subtract_product<T>, subtract_transposed<T>, scale<T>,
                                            largest_of_columns<T>};

}  // namespace

extern const VectorLoops vectors;
const VectorLoops vectors{stored_loops<float>, stored_loops<double>, multiply,
                          multiply_transposed, multiply_extended,    multiply_transposed_extended,
                          largest_of_rows,     checksums_of_columns};

}  // namespace speedwell::SPEEDWELL_ISA
