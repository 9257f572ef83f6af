// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, into the namespace SPEEDWELL_ISA: see loops_isa.cpp.
#include <complex>
#include <cstdint>

#include "cpu/magnitude_bits.hpp"
#include "cpu/panel_loops.hpp"
#include "cpu/width.hpp"

namespace speedwell::SPEEDWELL_ISA {

namespace {

SPEEDWELL_ELEMENT std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

template <class T>
Largest find_largest(const T* from, std::int64_t count) {
  if (count == 0) return {};
  const auto bits = largest_bits(from, count);
  std::int64_t i = 0;
  while (magnitude_bits(from[i]) < bits) ++i;
  return {static_cast<double>(__builtin_bit_cast(T, bits)), i};
}

// Strips of rows, each of which stays in the L1 cache while the loop passes over the columns.
template <class T>
Largest eliminate(MatrixView<const T> p, MatrixView<T> rows) {
  constexpr std::int64_t strip = 512;
  const T pivot = p(0, 0);
  Largest best;
  for (std::int64_t begin = 0; begin < rows.rows; begin += strip) {
    const std::int64_t m = smaller(strip, rows.rows - begin);
    T* l = rows.column(0) + begin;
    if (pivot != 0) {
      for (std::int64_t i = 0; i < m; ++i) l[i] /= pivot;
      for (std::int64_t j = 1; j < rows.columns; ++j) {
        const T pj = p(0, j);
        T* column = rows.column(j) + begin;
        SPEEDWELL_INDEPENDENT
        for (std::int64_t i = 0; i < m; ++i) column[i] -= l[i] * pj;
      }
    }
    if (rows.columns < 2) continue;
    const Largest here = find_largest<T>(rows.column(1) + begin, m);
    if (here.magnitude > best.magnitude) best = {here.magnitude, begin + here.row};
  }
  return best;
}

// |re| + |im|, as bits; those of infinity where a part is Inf or NaN.
template <class T>
SPEEDWELL_ELEMENT typename Bits<T>::Integer sum_bits(const T* pair) {
  const auto bits = magnitude_bits(static_cast<T>(__builtin_bit_cast(T, magnitude_bits(pair[0])) +
                                                  __builtin_bit_cast(T, magnitude_bits(pair[1]))));
  return bits < Bits<T>::infinity ? bits : Bits<T>::infinity;
}

template <class T>
Largest find_largest_pair(const T* from, std::int64_t count) {
  if (count == 0) return {};
  typename Bits<T>::Integer most = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto bits = sum_bits(from + 2 * i);
    most = bits > most ? bits : most;
  }
  std::int64_t i = 0;
  while (sum_bits(from + 2 * i) < most) ++i;
  return {static_cast<double>(__builtin_bit_cast(T, most)), i};
}

template <class T>
Largest find_largest_complex(const std::complex<T>* from, std::int64_t count) {
  return find_largest_pair(reinterpret_cast<const T*>(from), count);
}

// A power of two near 1 / |pivot|, by which quotients are computed without overflow.
template <class T>
SPEEDWELL_ELEMENT T power_below(T re, T im) {
  constexpr int most = sizeof(T) == sizeof(float) ? 126 : 1022;
  const double a = __builtin_fabs(re);
  const double b = __builtin_fabs(im);
  int e = 0;
  __builtin_frexp(a > b ? a : b, &e);
  return static_cast<T>(__builtin_ldexp(1.0, -e < most ? -e : most));
}

// As eliminate(), with pairs of numbers. l p = l re(p) + (i l) im(p), so that each pass over a
// column is one over its numbers.
template <class T>
Largest eliminate_complex(MatrixView<const std::complex<T>> p, MatrixView<std::complex<T>> matrix) {
  constexpr std::int64_t strip = 512;
  const auto of_pivot = [&](std::int64_t j) { return reinterpret_cast<const T*>(p.column(j)); };
  const MatrixView<T> rows{reinterpret_cast<T*>(matrix.data), 2 * matrix.rows, matrix.columns,
                           2 * matrix.ld};
  const T s = power_below(of_pivot(0)[0], of_pivot(0)[1]);
  const T re = of_pivot(0)[0] * s;
  const T im = of_pivot(0)[1] * s;
  const T square = re * re + im * im;
  T turned[2 * strip];  // i l
  Largest best;
  for (std::int64_t begin = 0; begin < rows.rows; begin += 2 * strip) {
    const std::int64_t m = smaller(2 * strip, rows.rows - begin);
    T* l = rows.column(0) + begin;
    if (square != 0) {
      for (std::int64_t i = 0; i < m; i += 2) {
        const T a = l[i] * s;
        const T b = l[i + 1] * s;
        l[i] = (a * re + b * im) / square;
        l[i + 1] = (b * re - a * im) / square;
        turned[i] = -l[i + 1];
        turned[i + 1] = l[i];
      }
      for (std::int64_t j = 1; j < rows.columns; ++j) {
        const T pr = of_pivot(j)[0];
        const T pi = of_pivot(j)[1];
        T* column = rows.column(j) + begin;
        SPEEDWELL_INDEPENDENT
        for (std::int64_t i = 0; i < m; ++i) column[i] -= l[i] * pr + turned[i] * pi;
      }
    }
    if (rows.columns < 2) continue;
    const Largest here = find_largest_pair<T>(rows.column(1) + begin, m / 2);
    if (here.magnitude > best.magnitude) best = {here.magnitude, begin / 2 + here.row};
  }
  return best;
}

}  // namespace

extern const AllPanelLoops panels;
template <class T>
constexpr PanelLoops<T> of_real{find_largest<T>, eliminate<T>};
template <class T>
constexpr PanelLoops<std::complex<T>> of_complex{find_largest_complex<T>, eliminate_complex<T>};
const AllPanelLoops panels{of_real<float>, of_real<double>, of_complex<float>, of_complex<double>};

}  // namespace speedwell::SPEEDWELL_ISA
