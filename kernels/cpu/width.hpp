// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// For what is compiled once for each instruction set, into the namespace LUPINE_ISA.
#pragma once

namespace lupine::LUPINE_ISA {

/// Of a vector in registers.
#if defined(__AVX512F__)
constexpr int vector_bytes = 64;
#elif defined(__AVX2__)
constexpr int vector_bytes = 32;
#else
constexpr int vector_bytes = 16;
#endif

}  // namespace lupine::LUPINE_ISA
