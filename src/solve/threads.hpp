// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A parallel loop whose body may throw.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>

namespace lupine {

/// Calls work(i) for all i in [0, count), from several threads. If a call throws, no further calls
/// begin, and the exception is thrown again when all threads have stopped.
template <class Work>
void for_each_in_threads(std::int64_t count, const Work& work) {
  std::exception_ptr thrown;
  std::atomic<bool> stopped = false;
#pragma omp parallel for schedule(dynamic)
  for (std::int64_t i = 0; i < count; ++i) {
    if (stopped.load(std::memory_order_relaxed)) continue;
    try {
      work(i);
    } catch (...) {
#pragma omp critical(lupine_threads)
      if (!thrown) thrown = std::current_exception();
      stopped.store(true, std::memory_order_relaxed);
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace lupine
