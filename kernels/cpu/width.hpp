// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The width of vectors, for sources that are compiled once for each instruction set.
#pragma once

/// Stands before a loop whose iterations do not depend on each other.
#ifdef __clang__
#define SPEEDWELL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define SPEEDWELL_INDEPENDENT _Pragma("GCC ivdep")
#endif

namespace speedwell::SPEEDWELL_ISA {

/// Bytes of a vector register.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#elif defined(SPEEDWELL_SVE)
constexpr int vector_bytes = __ARM_FEATURE_SVE_BITS / 8;
#else
constexpr int vector_bytes = 16;
#endif

}  // namespace speedwell::SPEEDWELL_ISA
