// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, into the namespace SPEEDWELL_ISA. Vectors are those of
// GCC's and Clang's vector extension, so that one source serves every width. Nothing here may call
// an inline function with linkage: of its copies the linker keeps one, perhaps with instructions
// that another processor lacks.
#include <cstddef>
#include <cstring>

#include "core/expects.hpp"
#include "cpu/instructions.hpp"
#include "cpu/loops.hpp"
#include "cpu/magnitude_bits.hpp"
#include "cpu/panel_loops.hpp"
#include "element/rounding.hpp"

namespace speedwell::SPEEDWELL_ISA {

namespace {

constexpr int width = vector_bytes / 8;
constexpr int unroll = 4;
constexpr int chunk = width * unroll;  // rows whose states and sums stay in registers

using Integers = std::uint64_t __attribute__((vector_size(width * 8)));
using Doubles = double __attribute__((vector_size(width * 8)));
using Floats = float __attribute__((vector_size(width * 4)));

SPEEDWELL_ELEMENT std::int64_t smaller(std::int64_t a, std::int64_t b) {
  return a < b ? a : b;
}

SPEEDWELL_ELEMENT Integers spread(std::uint64_t value) {
  return Integers{} + value;
}
SPEEDWELL_ELEMENT Doubles spread(double value) {
  return Doubles{} + value;
}

SPEEDWELL_ELEMENT Doubles magnitude(Doubles v) {
  return reinterpret<Doubles>(reinterpret<Integers>(v) & spread(~(std::uint64_t{1} << 63)));
}

// uniform() of each lane. Without an instruction that converts, each half of x becomes the fraction
// of a double, exactly; only their sum rounds, as (double)x does.
SPEEDWELL_ELEMENT Doubles uniform(Integers x) {
#ifdef __AVX512DQ__
  const Doubles value = reinterpret<Doubles>(_mm512_cvtepu64_pd(reinterpret<__m512i>(x)));
#else
  const Doubles high = reinterpret<Doubles>((x >> 32) | spread(0x4530000000000000u));
  const Doubles low = reinterpret<Doubles>((x & 0xffffffffu) | spread(0x4330000000000000u));
  const Doubles value = (high - spread(0x1p84 + 0x1p52)) + low;
#endif
  return value * 0x1p-64 - 0.5;
}

// x -> a x + c for each lane, where lane r makes r steps of the stream.
struct Lanes {
  Integers a[unroll];
  Integers c[unroll];
};

Lanes first_steps() {
  Lanes lanes;
  Affine steps{1, 0};
  for (int r = 0; r < chunk; ++r) {
    lanes.a[r / width][r % width] = steps.a;
    lanes.c[r / width][r % width] = steps.c;
    steps = Affine{}.after(steps);
  }
  return lanes;
}

SPEEDWELL_ELEMENT void store(Doubles values, float* to) {
  const Floats rounded = __builtin_convertvector(values, Floats);
  std::memcpy(to, &rounded, sizeof(rounded));
}
SPEEDWELL_ELEMENT void store(Doubles values, double* to) {
  std::memcpy(to, &values, sizeof(values));
}

template <class T>
void generate_random(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0, MatrixView<T> a) {
  const Lanes lanes = first_steps();
  const Affine down = jump(chunk);
  const Affine right = jump(static_cast<std::uint64_t>(spec.stride));
  std::uint64_t top = spec.state(i0, j0);
  for (std::int64_t j = 0; j < a.columns; ++j, top = right(top)) {
    Integers state[unroll];
    for (int v = 0; v < unroll; ++v) state[v] = lanes.a[v] * top + lanes.c[v];
    T* column = a.column(j);
    for (std::int64_t i = 0; i < a.rows; i += chunk) {
      T values[chunk];
#pragma GCC unroll 4
      for (int v = 0; v < unroll; ++v) {
        store(uniform(state[v]), values + std::ptrdiff_t{v} * width);
        state[v] = state[v] * down.a + down.c;
      }
      std::memcpy(column + i, values, sizeof(T) * smaller(chunk, a.rows - i));
    }
  }
}

// The states and sums of `chunk` rows stay in registers while the loop passes over the columns.
template <bool with_abs, bool with_abs_ax>
void multiply_random(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
                     std::int64_t n, const double* x, RowSums sums) {
  const Lanes lanes = first_steps();
  const Affine right = jump(static_cast<std::uint64_t>(spec.stride));
  for (std::int64_t i = 0; i < m; i += chunk) {
    const std::uint64_t corner = spec.state(i0 + i, j0);
    Integers state[unroll];
    Doubles ax[unroll]{};
    Doubles abs_rows[unroll]{};
    Doubles abs_ax[unroll]{};
    for (int v = 0; v < unroll; ++v) state[v] = lanes.a[v] * corner + lanes.c[v];
    for (std::int64_t j = 0; j < n; ++j) {
      const Doubles xj = spread(x[j]);
#pragma GCC unroll 4
      for (int v = 0; v < unroll; ++v) {
        const Doubles u = uniform(state[v]);
        ax[v] = multiply_add(u, xj, ax[v]);
        if constexpr (with_abs) abs_rows[v] += magnitude(u);
        if constexpr (with_abs_ax) abs_ax[v] = multiply_add(magnitude(u), magnitude(xj), abs_ax[v]);
        state[v] = state[v] * right.a + right.c;
      }
    }
    const std::int64_t rows = smaller(chunk, m - i);
    for (std::int64_t r = 0; r < rows; ++r) {
      sums.ax[i + r] += ax[r / width][r % width];
      if constexpr (with_abs) sums.abs_rows[i + r] += abs_rows[r / width][r % width];
      if constexpr (with_abs_ax) sums.abs_ax[i + r] += abs_ax[r / width][r % width];
    }
  }
}

template <class T>
void generate_structured(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0,
                         MatrixView<T> a) {
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i)
      a(i, j) = static_cast<T>(spec.structured(i0 + i, j0 + j));
}

void multiply_structured(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
                         std::int64_t n, const double* x, RowSums sums) {
  constexpr std::int64_t strip = 512;  // rows whose sums fit into the L1 cache
  for (std::int64_t begin = 0; begin < m; begin += strip) {
    const std::int64_t end = smaller(begin + strip, m);
    for (std::int64_t j = 0; j < n; ++j) {
      for (std::int64_t i = begin; i < end; ++i) {
        const double value = spec.structured(i0 + i, j0 + j);
        sums.ax[i] += value * x[j];
        if (sums.abs_rows) sums.abs_rows[i] += __builtin_fabs(value);
        if (sums.abs_ax) sums.abs_ax[i] += __builtin_fabs(value) * __builtin_fabs(x[j]);
      }
    }
  }
}

template <class T>
void generate(const MatrixSpec& spec, std::int64_t i0, std::int64_t j0, MatrixView<T> a) {
  spec.random() ? generate_random(spec, i0, j0, a) : generate_structured(spec, i0, j0, a);
}

void multiply(const MatrixSpec& spec, std::int64_t i0, std::int64_t m, std::int64_t j0,
              std::int64_t n, const double* x, RowSums sums) {
  if (!spec.random()) return multiply_structured(spec, i0, m, j0, n, x, sums);
  if (sums.abs_ax && sums.abs_rows) return multiply_random<true, true>(spec, i0, m, j0, n, x, sums);
  if (sums.abs_ax) return multiply_random<false, true>(spec, i0, m, j0, n, x, sums);
  if (sums.abs_rows) return multiply_random<true, false>(spec, i0, m, j0, n, x, sums);
  multiply_random<false, false>(spec, i0, m, j0, n, x, sums);
}

template <class T>
T largest(const T* from, std::int64_t count) {
  return __builtin_bit_cast(T, largest_bits(from, count));
}

template <class T>
void scale(const T* from, std::int64_t count, T factor, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = from[i] * factor;
}

template <class T>
void add(const T* from, std::int64_t count, T* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] += from[i];
}

// The vector of T that is as wide as Doubles.
template <class T>
struct VectorOf;
template <>
struct VectorOf<float> {
  using Type = float __attribute__((vector_size(width * 8)));
};
template <>
struct VectorOf<double> {
  using Type = Doubles;
};
template <class T>
constexpr int lanes_of = width * 8 / static_cast<int>(sizeof(T));

// Takes the columns of L in turn, on several columns of B at once: a step waits for the one before
// it in its column of B, and so the others fill the pipelines.
template <class T>
void solve_left_lower(MatrixView<const T> lu, MatrixView<T> b) {
  SPEEDWELL_EXPECTS(lu.columns <= triangle_order);
  using Vector = typename VectorOf<T>::Type;
  constexpr int order = triangle_order;
  constexpr int lanes = lanes_of<T>;
  constexpr int vectors = order / lanes;
  constexpr int group = vectors > 4 ? 2 : vectors > 2 ? 4 : 8;
  alignas(64) T l[order][order] = {};  // l[k]: column k of L; zero on and above the diagonal
  const auto n = static_cast<int>(lu.columns);
  for (int k = 0; k < n; ++k)
    for (int i = k + 1; i < n; ++i) l[k][i] = lu(i, k);
  for (std::int64_t j = 0; j < b.columns; j += group) {
    const auto columns = static_cast<int>(smaller(group, b.columns - j));
    alignas(64) T buffer[group][order] = {};
    for (int c = 0; c < columns; ++c)
      std::memcpy(buffer[c], b.column(j + c), sizeof(T) * static_cast<std::size_t>(n));
    Vector x[group][vectors];
    std::memcpy(x, buffer, sizeof(x));
#pragma GCC unroll 16
    for (int kv = 0; kv < vectors; ++kv)
      for (int k = 0; k < lanes; ++k) {
        const T* column = l[kv * lanes + k];
        Vector known[group];
#pragma GCC unroll 8
        for (int c = 0; c < group; ++c) known[c] = spread_lane(x[c][kv], k);
#pragma GCC unroll 16
        for (int v = kv; v < vectors; ++v) {
          Vector lv;
          std::memcpy(&lv, column + v * lanes, sizeof(lv));
#pragma GCC unroll 8
          for (int c = 0; c < group; ++c) x[c][v] = subtract_product(lv, known[c], x[c][v]);
        }
      }
    std::memcpy(buffer, x, sizeof(x));
    for (int c = 0; c < columns; ++c)
      std::memcpy(b.column(j + c), buffer[c], sizeof(T) * static_cast<std::size_t>(n));
  }
}

// Takes strips of rows that fit into the L1 cache, and four columns of X at a time.
template <class T>
void solve_right_upper(MatrixView<const T> lu, MatrixView<T> b) {
  SPEEDWELL_EXPECTS(lu.columns <= triangle_order);
  using Vector = typename VectorOf<T>::Type;
  constexpr int order = triangle_order;
  constexpr int group = 4;
  constexpr int strip = 4 * lanes_of<T>;
  alignas(64) T u[order][order] = {};  // u[k]: column k of U, with its diagonal's reciprocal
  const auto n = static_cast<int>(lu.columns);
  for (int k = 0; k < n; ++k) {
    for (int i = 0; i < k; ++i) u[k][i] = lu(i, k);
    u[k][k] = 1 / lu(k, k);
  }
  alignas(64) Vector x[order][4] = {};
  for (std::int64_t i = 0; i < b.rows; i += strip) {
    const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(smaller(strip, b.rows - i));
    for (int j = 0; j < n; ++j) {
      if (bytes < sizeof(x[j])) std::memset(x[j], 0, sizeof(x[j]));
      std::memcpy(x[j], b.column(j) + i, bytes);
    }
    for (int j = 0; j < n; j += group) {
      Vector sum[group][4];
      std::memcpy(sum, x[j], sizeof(sum));
      for (int k = 0; k < j; ++k) {
#pragma GCC unroll 4
        for (int c = 0; c < group; ++c) {
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v)
            sum[c][v] = subtract_product(x[k][v], Vector{} + u[j + c][k], sum[c][v]);
        }
      }
#pragma GCC unroll 4
      for (int k = 0; k < group; ++k) {
#pragma GCC unroll 4
        for (int v = 0; v < 4; ++v) sum[k][v] *= u[j + k][j + k];
#pragma GCC unroll 4
        for (int c = k + 1; c < group; ++c)
#pragma GCC unroll 4
          for (int v = 0; v < 4; ++v)
            sum[c][v] = subtract_product(sum[k][v], Vector{} + u[j + c][j + k], sum[c][v]);
      }
      std::memcpy(x[j], sum, sizeof(sum));
    }
    for (int j = 0; j < n; ++j) std::memcpy(b.column(j) + i, x[j], bytes);
  }
}

void to_half(const float* from, std::int64_t count, float scale, Half* to) {
  std::int64_t i = 0;
#ifdef SPEEDWELL_CONVERTS_HALF
  for (; i + half_lanes <= count; i += half_lanes)
    store_lanes(rounded_to_half(load_lanes<FewFloats>(from + i) * scale), to + i);
#endif
  for (; i < count; ++i) to[i] = speedwell::to_half(from[i] * scale);
}

void to_bfloat16(const float* from, std::int64_t count, float scale, Bfloat16* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = speedwell::to_bfloat16(from[i] * scale);
}

void to_half_pair(const float* from, std::int64_t count, float scale, Half* high, Half* low) {
  std::int64_t i = 0;
#ifdef SPEEDWELL_CONVERTS_HALF
  for (; i + half_lanes <= count; i += half_lanes) {
    const FewFloats scaled = load_lanes<FewFloats>(from + i) * scale;
    const Halves first = rounded_to_half(scaled);
    store_lanes(first, high + i);
    store_lanes(rounded_to_half((scaled - floats_of(first)) * 0x1p11f), low + i);
  }
#endif
  for (; i < count; ++i) {
    const HalfPair pair = speedwell::to_half_pair(from[i] * scale);
    high[i] = pair.high;
    low[i] = pair.low;
  }
}

void from_half(const Half* from, std::int64_t count, float* to) {
  std::int64_t i = 0;
#ifdef SPEEDWELL_CONVERTS_HALF
  for (; i + half_lanes <= count; i += half_lanes)
    store_lanes(floats_of(load_lanes<Halves>(from + i)), to + i);
#endif
  for (; i < count; ++i) to[i] = speedwell::to_float(from[i]);
}

void from_bfloat16(const Bfloat16* from, std::int64_t count, float* to) {
  for (std::int64_t i = 0; i < count; ++i) to[i] = speedwell::to_float(from[i]);
}

// Each pair is one number of 32 bits, so that the compiler makes vectors of it.
void interleave(const Bfloat16* even, const Bfloat16* odd, std::int64_t count, Bfloat16* to) {
  for (std::int64_t i = 0; i < count; ++i) {
    const std::uint32_t pair = even[i].bits | std::uint32_t{odd[i].bits} << 16;
    std::memcpy(static_cast<void*>(to + 2 * i), &pair, sizeof(pair));
  }
}

std::uint64_t sum_of_words(const std::uint64_t* from, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += from[i];
  return sum;
}

void triad(const double* b, const double* c, double s, double* a, std::int64_t count) {
  SPEEDWELL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
}

}  // namespace

extern const Loops table;
extern const VectorLoops vectors;
extern const AllPanelLoops panels;
#define SPEEDWELL_STRING_(x) #x
#define SPEEDWELL_STRING(x) SPEEDWELL_STRING_(x)
template <class T>
constexpr StorageLoops<T> storage_loops{generate<T>, largest<T>,          scale<T>,
                                        add<T>,      solve_left_lower<T>, solve_right_upper<T>};
const Loops table{SPEEDWELL_STRING(SPEEDWELL_ISA),
                  &vectors,
                  &panels,
                  multiply,
                  to_half,
                  to_bfloat16,
                  to_half_pair,
                  from_half,
                  from_bfloat16,
                  interleave,
                  sum_of_words,
                  triad,
                  storage_loops<float>,
                  storage_loops<double>};

}  // namespace speedwell::SPEEDWELL_ISA
