// SPDX-License-Identifier: BSD-3-Clause
// Compiled with AVX512_BF16, and called only on processors that have it. Nothing here may call an
// inline function with linkage: see loops_isa.cpp.
#include <immintrin.h>

#include "cpu/peak.hpp"

namespace speedwell::avx512 {

namespace {

constexpr int sums = 24;
constexpr std::int64_t lanes = 16;

// vdpbf16ps adds two products to each lane.
double pairs_of_products(std::int64_t steps) {
  // 1 in the upper half of each lane, 1/2 in the lower.
  const __m512i ones = _mm512_set1_epi32(0x3f803f00);
  const auto pairs = reinterpret_cast<__m512bh>(ones);
  __m512 sum[sums];
  for (int v = 0; v < sums; ++v) sum[v] = _mm512_set1_ps(static_cast<float>(v));
  for (std::int64_t k = 0; k < steps; ++k) {
#pragma GCC unroll 24
    for (int v = 0; v < sums; ++v) sum[v] = _mm512_dpbf16_ps(sum[v], pairs, pairs);
  }
  double total = 0;
  for (const __m512& s : sum)
    for (int lane = 0; lane < lanes; ++lane) total += static_cast<double>(s[lane]);
  return total;
}

}  // namespace

extern const RegisterLoop bf16;
const RegisterLoop bf16{4 * lanes * sums, pairs_of_products};

}  // namespace speedwell::avx512
