// Compiled once for each instruction set, into the namespace LUPINE_ISA, and chosen at run time, so
// that the program runs on any processor. Nothing here may call an inline function with linkage.
#include "element/matrix_spec.hpp"
#include "streams.hpp"

namespace lupine::LUPINE_ISA {

namespace {

#if defined(__AVX512F__)
constexpr int width = 8;
constexpr int chains = 8;
#elif defined(__AVX2__)
constexpr int width = 4;
constexpr int chains = 4;
#else
constexpr int width = 2;
constexpr int chains = 4;
#endif
using Integers = std::uint64_t __attribute__((vector_size(width * 8)));
using Doubles = double __attribute__((vector_size(width * 8)));

LUPINE_ELEMENT Doubles to_doubles(Integers x) {
#ifdef __AVX512DQ__
  return __builtin_convertvector(x, Doubles);
#else
  // Each half of x lands in the fraction of a power of two; the sum rounds once.
  const Doubles high = __builtin_bit_cast(Doubles, (x >> 32) | 0x4530000000000000u);
  const Doubles low = __builtin_bit_cast(Doubles, (x & 0xffffffffu) | 0x4330000000000000u);
  return (high - (0x1p84 + 0x1p52)) + low;
#endif
}

double sum_of_stream(std::uint64_t seed, std::int64_t steps) {
  constexpr Affine stride = jump(chains * width);
  Integers state[chains];
  Doubles sum[chains]{};
  for (Integers& s : state)
    for (int lane = 0; lane < width; ++lane, seed = Affine{}(seed)) s[lane] = seed;
  for (std::int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 8
    for (int v = 0; v < chains; ++v) {
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

}  // namespace

extern const Streams streams;
const Streams streams{chains * width, sum_of_stream, sum_of_words};

}  // namespace lupine::LUPINE_ISA
