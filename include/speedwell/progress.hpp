// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Functions of the caller that Speedwell calls while it works: to report progress, and to ask
/// whether to end.
#pragma once

#include <cstdint>
#include <functional>

namespace speedwell {

/// Progress of one LU factorization after one of its steps.
struct Progress {
  std::int64_t columns_done = 0;  ///< columns that are eliminated on every rank
  std::int64_t n = 0;             ///< order of A
  double seconds = 0;             ///< since this factorization began
};

/// A function that is called after each step of a factorization, on rank 0 alone, by the thread
/// that called Speedwell. The factorization waits until it returns. An exception that it throws
/// ends the call: it leaves it on rank 0, and the other ranks throw Interrupted.
using ProgressFunction = std::function<void(const Progress&)>;

/// A function that returns whether to end the call of Speedwell. The thread that called Speedwell
/// asks it several times a second, every 50 ms at most, on each rank that gave one. Ranks may give
/// different functions, or none. Where it has returned true on any rank, every rank throws
/// Interrupted: on CPUs within about a second, unless Speedwell reads a file or waits for another
/// function of the caller; on GPUs when the work that they were given is done. An exception that it
/// throws leaves the call on that rank, and the other ranks throw Interrupted. It must not call
/// Speedwell or MPI.
using InterruptFunction = std::function<bool()>;

}  // namespace speedwell
