// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A parallel loop whose body may throw.
#pragma once

#include <omp.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <exception>

namespace speedwell {

/// The number of threads that a parallel loop may have, at least 1.
inline unsigned threads_in_loops() {
  return static_cast<unsigned>(std::max(omp_get_max_threads(), 1));
}

/// Calls work(i) for all i in [0, count), from so many threads. If calls throw, the exception of
/// the smallest i is thrown again when all threads have stopped; calls of a greater i may be left
/// out. With one thread there is no parallel region: one inside it would make a new team each time.
template <class Work>
void for_each_in_threads(std::int64_t count, int threads, const Work& work) {
  if (threads == 1 || count <= 1) {
    for (std::int64_t i = 0; i < count; ++i) work(i);
    return;
  }
  std::exception_ptr thrown;
  std::atomic<std::int64_t> failed = count;  // the smallest i whose call has thrown
#pragma omp parallel for schedule(dynamic) num_threads(threads)
  for (std::int64_t i = 0; i < count; ++i) {
    if (i > failed.load(std::memory_order_relaxed)) continue;
    try {
      work(i);
    } catch (...) {
#pragma omp critical(speedwell_threads)
      if (i < failed.load(std::memory_order_relaxed)) {
        thrown = std::current_exception();
        failed.store(i, std::memory_order_relaxed);
      }
    }
  }
  if (thrown) std::rethrow_exception(thrown);
}
template <class Work>
void for_each_in_threads(std::int64_t count, const Work& work) {
  for_each_in_threads(count, std::max(omp_get_max_threads(), 1), work);
}

}  // namespace speedwell
