// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The operations on vectors that the compiler's own vector types have no operator for, by the
/// instructions of the set for which a source is compiled (SPEEDWELL_ISA). V is a vector of
/// vector_bytes bytes, of float or of double.
#pragma once

#include <cstdint>
#include <cstring>

#include "cpu/width.hpp"
#include "element/element.hpp"

#if defined(__AVX__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#elif defined(SPEEDWELL_SVE)
#include <arm_neon.h>
#include <arm_sve.h>
#elif defined(SPEEDWELL_NEON)
#include <arm_neon.h>
#endif
#if defined(__F16C__) || defined(SPEEDWELL_NEON)
#define SPEEDWELL_CONVERTS_HALF
#endif

namespace speedwell::SPEEDWELL_ISA {

template <class To, class From>
SPEEDWELL_ELEMENT To reinterpret(From from) {
  static_assert(sizeof(To) == sizeof(From));
  return __builtin_bit_cast(To, from);
}

/// The vector at this place, which need not be aligned; and back.
template <class V, class T>
SPEEDWELL_ELEMENT V load_lanes(const T* from) {
  V v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class V, class T>
SPEEDWELL_ELEMENT void store_lanes(V v, T* to) {
  std::memcpy(static_cast<void*>(to), &v, sizeof v);
}

/// Whether these are lanes of FP32, not of FP64.
template <class V>
constexpr bool of_floats = sizeof(V{}[0]) == sizeof(float);

/// What intrinsic functions take as vectors, and a b + c and c - a b of them.
#if defined(__AVX512F__)
using NativeFloats = __m512;
using NativeDoubles = __m512d;
SPEEDWELL_ELEMENT NativeFloats fused_add(NativeFloats a, NativeFloats b, NativeFloats c) {
  return _mm512_fmadd_ps(a, b, c);
}
SPEEDWELL_ELEMENT NativeFloats fused_subtract(NativeFloats a, NativeFloats b, NativeFloats c) {
  return _mm512_fnmadd_ps(a, b, c);
}
SPEEDWELL_ELEMENT NativeDoubles fused_add(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return _mm512_fmadd_pd(a, b, c);
}
SPEEDWELL_ELEMENT NativeDoubles fused_subtract(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return _mm512_fnmadd_pd(a, b, c);
}
#elif defined(__FMA__)
using NativeFloats = __m256;
using NativeDoubles = __m256d;
SPEEDWELL_ELEMENT NativeFloats fused_add(NativeFloats a, NativeFloats b, NativeFloats c) {
  return _mm256_fmadd_ps(a, b, c);
}
SPEEDWELL_ELEMENT NativeFloats fused_subtract(NativeFloats a, NativeFloats b, NativeFloats c) {
  return _mm256_fnmadd_ps(a, b, c);
}
SPEEDWELL_ELEMENT NativeDoubles fused_add(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return _mm256_fmadd_pd(a, b, c);
}
SPEEDWELL_ELEMENT NativeDoubles fused_subtract(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return _mm256_fnmadd_pd(a, b, c);
}
#elif defined(SPEEDWELL_SVE)
using NativeFloats = svfloat32_t __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
using NativeDoubles = svfloat64_t __attribute__((arm_sve_vector_bits(__ARM_FEATURE_SVE_BITS)));
SPEEDWELL_ELEMENT NativeFloats fused_add(NativeFloats a, NativeFloats b, NativeFloats c) {
  return svmla_f32_x(svptrue_b32(), c, a, b);
}
SPEEDWELL_ELEMENT NativeFloats fused_subtract(NativeFloats a, NativeFloats b, NativeFloats c) {
  return svmls_f32_x(svptrue_b32(), c, a, b);
}
SPEEDWELL_ELEMENT NativeDoubles fused_add(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return svmla_f64_x(svptrue_b64(), c, a, b);
}
SPEEDWELL_ELEMENT NativeDoubles fused_subtract(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return svmls_f64_x(svptrue_b64(), c, a, b);
}
#elif defined(SPEEDWELL_NEON)
using NativeFloats = float32x4_t;
using NativeDoubles = float64x2_t;
SPEEDWELL_ELEMENT NativeFloats fused_add(NativeFloats a, NativeFloats b, NativeFloats c) {
  return vfmaq_f32(c, a, b);
}
SPEEDWELL_ELEMENT NativeFloats fused_subtract(NativeFloats a, NativeFloats b, NativeFloats c) {
  return vfmsq_f32(c, a, b);
}
SPEEDWELL_ELEMENT NativeDoubles fused_add(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return vfmaq_f64(c, a, b);
}
SPEEDWELL_ELEMENT NativeDoubles fused_subtract(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return vfmsq_f64(c, a, b);
}
#else
using NativeFloats = float __attribute__((vector_size(vector_bytes)));
using NativeDoubles = double __attribute__((vector_size(vector_bytes)));
SPEEDWELL_ELEMENT NativeFloats fused_add(NativeFloats a, NativeFloats b, NativeFloats c) {
  return a * b + c;
}
SPEEDWELL_ELEMENT NativeFloats fused_subtract(NativeFloats a, NativeFloats b, NativeFloats c) {
  return c - a * b;
}
SPEEDWELL_ELEMENT NativeDoubles fused_add(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return a * b + c;
}
SPEEDWELL_ELEMENT NativeDoubles fused_subtract(NativeDoubles a, NativeDoubles b, NativeDoubles c) {
  return c - a * b;
}
#endif

template <class V>
struct NativeOf {
  using Type = NativeDoubles;
};
template <class V>
requires of_floats<V>
struct NativeOf<V> {
  using Type = NativeFloats;
};

/// a b + c and c - a b, rounded once where the processor has fused operations.
template <class V>
SPEEDWELL_ELEMENT V multiply_add(V a, V b, V c) {
  using Native = typename NativeOf<V>::Type;
  return reinterpret<V>(
      fused_add(reinterpret<Native>(a), reinterpret<Native>(b), reinterpret<Native>(c)));
}
template <class V>
SPEEDWELL_ELEMENT V subtract_product(V a, V b, V c) {
  using Native = typename NativeOf<V>::Type;
  return reinterpret<V>(
      fused_subtract(reinterpret<Native>(a), reinterpret<Native>(b), reinterpret<Native>(c)));
}

/// A vector with lane k of v in all lanes. The masked instructions avoid a warning of GCC 12 in its
/// own header (bug 105593).
template <class V>
SPEEDWELL_ELEMENT V spread_lane(V v, int k) {
#if defined(__AVX512F__)
  if constexpr (of_floats<V>)
    return reinterpret<V>(
        _mm512_maskz_permutexvar_ps(0xffff, _mm512_set1_epi32(k), reinterpret<__m512>(v)));
  else
    return reinterpret<V>(
        _mm512_maskz_permutexvar_pd(0xff, _mm512_set1_epi64(k), reinterpret<__m512d>(v)));
#else
  return V{} + v[k];
#endif
}

/// Lanes of whole numbers of 64 bits.
using Words = std::uint64_t __attribute__((vector_size(vector_bytes)));

/// The product of each lane's two halves. The masked instruction as in spread_lane().
SPEEDWELL_ELEMENT Words product_of_halves(Words v) {
#if defined(__AVX512F__)
  return reinterpret<Words>(
      _mm512_maskz_mul_epu32(0xff, reinterpret<__m512i>(v), reinterpret<__m512i>(v >> 32)));
#elif defined(__AVX2__)
  return reinterpret<Words>(
      _mm256_mul_epu32(reinterpret<__m256i>(v), reinterpret<__m256i>(v >> 32)));
#elif defined(__SSE2__)
  return reinterpret<Words>(_mm_mul_epu32(reinterpret<__m128i>(v), reinterpret<__m128i>(v >> 32)));
#elif defined(SPEEDWELL_NEON) && !defined(SPEEDWELL_SVE)
  const auto words = reinterpret<uint64x2_t>(v);
  return reinterpret<Words>(vmull_u32(vmovn_u64(words), vshrn_n_u64(words, 32)));
#else
  return (v & 0xffffffffU) * (v >> 32);
#endif
}

#ifdef SPEEDWELL_CONVERTS_HALF
/// So many numbers are converted from and to FP16 at once, rounded to nearest, ties to even.
#ifdef __F16C__
constexpr int half_lanes = 8;
#else
constexpr int half_lanes = 4;
#endif
using FewFloats = float __attribute__((vector_size(half_lanes * 4)));
using Halves = std::uint16_t __attribute__((vector_size(half_lanes * 2)));

SPEEDWELL_ELEMENT Halves rounded_to_half(FewFloats v) {
#ifdef __F16C__
  return reinterpret<Halves>(_mm256_cvtps_ph(reinterpret<__m256>(v), _MM_FROUND_TO_NEAREST_INT));
#else
  return reinterpret<Halves>(vcvt_f16_f32(reinterpret<float32x4_t>(v)));
#endif
}
SPEEDWELL_ELEMENT FewFloats floats_of(Halves v) {
#ifdef __F16C__
  return reinterpret<FewFloats>(_mm256_cvtph_ps(reinterpret<__m128i>(v)));
#else
  return reinterpret<FewFloats>(vcvt_f32_f16(reinterpret<float16x4_t>(v)));
#endif
}
#endif

}  // namespace speedwell::SPEEDWELL_ISA
