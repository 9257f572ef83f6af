// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Threads, and buffers of OpenBLAS, where the address space of the process is limited.
#pragma once

#include <cstdint>

namespace lupine {

/// Bytes of address space of a buffer of OpenBLAS: one for each of its threads as it is loaded,
/// and one for each thread that calls it.
constexpr std::int64_t blas_buffer_bytes = std::int64_t{LUPINE_BLAS_BUFFER_MIB} << 20;

/// Where RLIMIT_AS or RLIMIT_DATA is set: starts the threads and takes the buffers that so many
/// threads will need. Otherwise both would be taken in the middle of a run; without room for them
/// OpenMP ends the process, and OpenBLAS asks again and again. For the threads and buffers of the
/// calling thread. @pre threads >= 1
/// @throws NotEnoughMemory where the limit leaves no room for them
void settle_in_limit(int threads);

}  // namespace lupine
