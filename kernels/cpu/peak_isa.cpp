// SPDX-License-Identifier: BSD-3-Clause
// Compiled once for each instruction set, into the namespace SPEEDWELL_ISA; peaks() chooses one
// copy at run time. Nothing here may call an inline function with linkage: see loops_isa.cpp.
// Products and sums become fused operations (-ffp-contract=fast), since only the speed matters.
#include "cpu/peak.hpp"
#include "cpu/width.hpp"
#include "element/matrix_spec.hpp"

namespace speedwell::SPEEDWELL_ISA {

namespace {

constexpr int bytes = vector_bytes;
constexpr int stream_chains = bytes == 64 ? 8 : 4;
// Each operation waits for the previous one of its sum, so several sums in turn fill the pipelines.
// They and the two factors have to fit into the registers.
#if defined(__x86_64__) && !defined(__AVX512F__)
constexpr int sums = 12;
#else
constexpr int sums = 24;
#endif
constexpr int width = bytes / 8;
constexpr std::int64_t elements_a_step = std::int64_t{stream_chains} * width;
using Integers = std::uint64_t __attribute__((vector_size(bytes)));
using Doubles = double __attribute__((vector_size(bytes)));
using Floats = float __attribute__((vector_size(bytes)));

template <class Vector, class T>
double multiply_add(std::int64_t steps) {
  constexpr int lanes = bytes / static_cast<int>(sizeof(T));
  const Vector factor = Vector{} + T(0.75);
  const Vector term = Vector{} + T(0.25);
  Vector sum[sums];
  for (int v = 0; v < sums; ++v) sum[v] = Vector{} + static_cast<T>(v);
  for (std::int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 24
    for (int v = 0; v < sums; ++v) sum[v] = sum[v] * factor + term;
  }
  double total = 0;
  for (const Vector& s : sum)
    for (int lane = 0; lane < lanes; ++lane) total += static_cast<double>(s[lane]);
  return total;
}

SPEEDWELL_ELEMENT Doubles to_doubles(Integers x) {
#ifdef __AVX512DQ__
  return __builtin_convertvector(x, Doubles);
#else
  // Each half of x becomes the fraction of a double; only their sum rounds.
  const Doubles high = __builtin_bit_cast(Doubles, (x >> 32) | 0x4530000000000000u);
  const Doubles low = __builtin_bit_cast(Doubles, (x & 0xffffffffu) | 0x4330000000000000u);
  return (high - (0x1p84 + 0x1p52)) + low;
#endif
}

double sum_of_stream(std::uint64_t seed, std::int64_t steps) {
  constexpr Affine stride = jump(elements_a_step);
  Integers state[stream_chains];
  Doubles sum[stream_chains]{};
  for (Integers& s : state)
    for (int lane = 0; lane < width; ++lane, seed = Affine{}(seed)) s[lane] = seed;
  for (std::int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 8
    for (int v = 0; v < stream_chains; ++v) {
      state[v] = state[v] * stride.a + stride.c;
      sum[v] += to_doubles(state[v]);
    }
  }
  double total = 0;
  for (const Doubles& s : sum)
    for (int lane = 0; lane < width; ++lane) total += s[lane];
  return total;
}

std::uint64_t sum_of_words(const std::uint64_t* data, std::int64_t count) {
  std::uint64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += data[i];
  return sum;
}

void triad(const double* b, const double* c, double s, double* a, std::int64_t count) {
  SPEEDWELL_INDEPENDENT
  for (std::int64_t i = 0; i < count; ++i) a[i] = b[i] + s * c[i];
}

constexpr std::int64_t operations(std::int64_t lanes) {
  return lanes * 2 * sums;
}

}  // namespace

extern const Peaks peaks;
const Peaks peaks{{operations(bytes / 8), multiply_add<Doubles, double>},
                  {operations(bytes / 4), multiply_add<Floats, float>},
                  elements_a_step,
                  sum_of_stream,
                  sum_of_words,
                  triad};

}  // namespace speedwell::SPEEDWELL_ISA
