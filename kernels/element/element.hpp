// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a function of one element is declared, so that it compiles for hosts and for GPUs.
#pragma once

#include "core/expects.hpp"

#ifdef __CUDACC__
#define SPEEDWELL_ELEMENT __host__ __device__ __forceinline__
#else
// always_inline: the linker must not use a copy that was compiled for another instruction set.
#define SPEEDWELL_ELEMENT inline __attribute__((always_inline))
#endif

/// SPEEDWELL_EXPECTS for host and device code. In a kernel, a broken precondition is a trap: the
/// next call on the stream fails.
#ifdef __CUDA_ARCH__
#define SPEEDWELL_ELEMENT_EXPECTS(condition)                                              \
  static_cast<void>(!::speedwell::checks_preconditions || static_cast<bool>(condition) || \
                    (__trap(), false))
#else
#define SPEEDWELL_ELEMENT_EXPECTS(condition) SPEEDWELL_EXPECTS(condition)
#endif
