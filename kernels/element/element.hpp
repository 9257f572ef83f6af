// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a function of one element is declared, so that it compiles for hosts and for GPUs.
#pragma once

#include "core/expects.hpp"

#ifdef __CUDACC__
#define LUPINE_ELEMENT __host__ __device__ __forceinline__
#else
// always_inline: the linker must not use a copy that was compiled for another instruction set.
#define LUPINE_ELEMENT inline __attribute__((always_inline))
#endif

/// LUPINE_EXPECTS for host and device code. In a kernel, a broken precondition is a trap: the next
/// call on the stream fails.
#ifdef __CUDA_ARCH__
#define LUPINE_ELEMENT_EXPECTS(condition)                                              \
  static_cast<void>(!::lupine::checks_preconditions || static_cast<bool>(condition) || \
                    (__trap(), false))
#else
#define LUPINE_ELEMENT_EXPECTS(condition) LUPINE_EXPECTS(condition)
#endif
