// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The driver's functions for green contexts, for GPUs that are emulated or simulated. A context
/// changes no result; its streams know how many multiprocessors they have.
#pragma once

#include <cstddef>

#include "cuda.h"

struct CUgreenCtx_st {
  CUdevice device;
  int multiprocessors;
};

namespace speedwell::green {

/// The driver's function of this name; null if it is none for green contexts, or there are none.
void* driver_function(const char* name);
/// Contexts that are not destroyed.
std::size_t live_contexts();

// Defined by those who have such a GPU:

/// Those of the whole GPU.
unsigned multiprocessors();
/// The multiprocessors of a context are a multiple of this number; 0: there are no contexts.
unsigned unit();
/// Called before a context is made.
void making_context();
/// Limits the stream to so many multiprocessors.
void limit(cudaStream_t stream, int multiprocessors);

}  // namespace speedwell::green
