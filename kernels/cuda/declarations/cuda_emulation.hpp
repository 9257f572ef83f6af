// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the emulation offers to tests beside the interfaces of CUDA.
///
/// Environment, read at the first call and by restart():
///   SPEEDWELL_EMULATED_GPUS: devices (1); none is cudaErrorNoDevice
///   SPEEDWELL_EMULATED_MULTIPROCESSORS: of each (4)
///   SPEEDWELL_EMULATED_MEMORY: bytes of each (2^30)
///   SPEEDWELL_EMULATED_DRIVER: newest CUDA that the driver runs (13000); 0: there is no driver
///   SPEEDWELL_EMULATION_SEED: of all that may vary: order of streams, blocks and threads (1)
///   SPEEDWELL_EMULATION_ORDER: high-first or low-first: streams of high (low) priority alone run
///     as long as any of their tasks can, with what these wait for; and nothing runs before the
///     host waits for it (any)
///   SPEEDWELL_EMULATED_FAILURE: FUNCTION:CALL[:ERROR[:TIMES]], that call of it fails, by default
///     with cudaErrorLaunchFailure, and all calls after it; with cudaErrorMemoryAllocation (2) so
///     many calls (1), and none after them
///   SPEEDWELL_EMULATED_ALGORITHMS: [x][i][gBLOCKS/]MS[:ROWS],...: what cuBLASLt's heuristic
///     offers, in its order: algorithms that take MS milliseconds longer than the arithmetic, for
///     results of at most ROWS rows; x: it is refused when it runs; i: it sums parts of K in place;
///     g: it launches so many thread blocks, whatever the limit of multiprocessors, and otherwise
///     one on each of these (0,0)
///   SPEEDWELL_EMULATION_NOTES: names each of what is made beside messages on standard error
///   SPEEDWELL_EMULATED_GREEN_CONTEXTS: none: the driver has none; fail: no kernel runs in one
///   SPEEDWELL_EMULATED_NCCL: none: there is no such library; lacks:FUNCTION; version:CODE;
///     hang:CALL: what this process gives from that broadcast or group on is never done;
///     error:CALL: and ncclCommGetAsyncError says so
///   SPEEDWELL_EMULATED_CUBLAS: lacks:FUNCTION, of those that are looked up by name
/// As for cuBLAS: CUBLAS_EMULATE_DOUBLE_PRECISION (1), CUBLAS_EMULATION_STRATEGY (eager) and
/// CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT, for what a handle was not told. A product that
/// the environment alone has emulated is rounded to 40 bits, or as many as the last of these says.
#pragma once

#include <cstddef>
#include <functional>

namespace speedwell::emulation {

/// Reads the environment again and forgets errors and the counts of calls; work in the streams is
/// completed first. Memory stays.
void restart();
/// What restart() calls first: whoever keeps something of the GPU's from run to run gives it back.
std::function<void()>& before_restart();

/// What finds NCCL and functions of cuBLAS, as those of <dlfcn.h>.
void* dlopen(const char* library, int flags);
void* dlsym(void* library, const char* function);
const char* dlerror();

/// Allocations around which something has been written. cudaFree ends the program for one.
std::size_t damaged_allocations();

/// Allocations that have not been freed, and streams, events and handles that have not been
/// destroyed.
std::size_t live_objects();

/// Calls of a function since restart(), such as "cublasLtMatmulAlgoGetHeuristic"; or products that
/// cuBLASLt was given to compute by an algorithm, such as "algorithm 0", or on streams of green
/// contexts, "product in a part"; or, as "made beside messages", what was allocated, freed or
/// created while NCCL's messages were not done; or, as "emulated product", FP64 products by
/// integers, and as "workspace too small" those whose workspace has no room for the slices of both
/// factors.
long calls_of(const char* function);
/// Different kernels of Speedwell's own that were started since the program began.
std::size_t kernels_started();

/// How many blocks of a kernel run side by side from now on, in an order that varies; 1, as at
/// first: one after the other.
void set_blocks_at_once(int count);

/// Bytes of pinned host memory that there were at once, since restart() at most.
std::size_t most_pinned();

}  // namespace speedwell::emulation
