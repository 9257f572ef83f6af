/// @file
/// How a function of one element is declared: for the host, and for a device where there is one.
#pragma once

#ifdef __CUDACC__
#define LUPINE_ELEMENT __host__ __device__ __forceinline__
#else
// always_inline: a copy compiled for one instruction set must never serve another.
#define LUPINE_ELEMENT inline __attribute__((always_inline))
#endif
