// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Progress of a factorization, reported while it runs.
#pragma once

#include <cstdint>
#include <functional>

namespace lupine {

/// Progress of one LU factorization after one of its steps.
struct Progress {
  std::int64_t columns_done = 0;  ///< columns that are eliminated on every rank
  std::int64_t n = 0;             ///< order of A
  double seconds = 0;             ///< since this factorization began
};

/// A function that is called after each step of a factorization, on rank 0 alone, by the thread
/// that called Lupine. The factorization waits until it returns.
using ProgressFunction = std::function<void(const Progress&)>;

}  // namespace lupine
