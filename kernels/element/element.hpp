// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How a function of one element is declared: for the host, and for a device where there is one.
#pragma once

#include "core/expects.hpp"

#ifdef __CUDACC__
#define LUPINE_ELEMENT __host__ __device__ __forceinline__
#else
// always_inline: a copy compiled for one instruction set must never serve another.
#define LUPINE_ELEMENT inline __attribute__((always_inline))
#endif

/// LUPINE_EXPECTS for host and device. A kernel is ended by a trap, which fails the stream's next
/// call.
#ifdef __CUDA_ARCH__
#define LUPINE_ELEMENT_EXPECTS(condition)                                              \
  static_cast<void>(!::lupine::checks_preconditions || static_cast<bool>(condition) || \
                    (__trap(), false))
#else
#define LUPINE_ELEMENT_EXPECTS(condition) LUPINE_EXPECTS(condition)
#endif
