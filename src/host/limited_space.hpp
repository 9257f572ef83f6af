// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Threads, and buffers of OpenBLAS, where the address space of the process is limited.
#pragma once

#include <cstdint>

namespace speedwell {

/// Bytes of address space of a buffer of OpenBLAS: one for each of its threads as it is loaded,
/// and one for each thread that calls it.
constexpr std::int64_t blas_buffer_bytes = std::int64_t{SPEEDWELL_BLAS_BUFFER_MIB} << 20;

/// Whether RLIMIT_AS or RLIMIT_DATA is set. It may be at any time.
bool is_space_limited();

/// Whether so many more threads can run at once in this process.
bool can_start(int threads);

/// Starts the threads and takes the buffers that so many threads will need, once for each calling
/// thread. Otherwise both would be taken in the middle of a run; where a limit leaves no room for
/// them, which may have been set since, OpenMP ends the process, and OpenBLAS asks again and again.
/// ThreadScope calls it. @pre threads >= 1
/// @throws NotEnoughMemory where a limit leaves no room for them
void settle(int threads);

}  // namespace speedwell
