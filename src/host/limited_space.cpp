// SPDX-License-Identifier: BSD-3-Clause
#include "host/limited_space.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <omp.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <future>
#include <system_error>
#include <thread>
#include <vector>

#include "core/counted.hpp"
#include "core/expects.hpp"
#include "core/forks.hpp"
#include "host/thread_scope.hpp"

// OpenBLAS exports these, but has no header for them.
extern "C" {
[[gnu::weak]] void* blas_memory_alloc(int);
[[gnu::weak]] void blas_memory_free(void*);
}

namespace speedwell {

bool is_space_limited() {
  const auto has_limit = [](auto resource) {
    rlimit limit{};
    return ::getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  };
  return has_limit(RLIMIT_AS) || has_limit(RLIMIT_DATA);
}

// The stacks of these threads stay with the C library, for the next.
bool can_start(int threads) {
  std::promise<void> end;
  const std::shared_future<void> ended = end.get_future().share();
  std::vector<std::thread> all;
  bool could = true;
  try {
    for (int i = 0; i < threads; ++i) all.emplace_back([ended] { ended.wait(); });
  } catch (const std::system_error&) {
    could = false;
  }
  end.set_value();
  for (std::thread& thread : all) thread.join();
  return could;
}

namespace {

bool can_map(std::int64_t bytes) {
  if (bytes == 0) return true;
  const auto size = static_cast<std::size_t>(bytes);
  void* data = mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return data != MAP_FAILED && munmap(data, size) == 0;
}

/// OpenMP's threads, and the address space from which the C library gives each of them memory.
void start_team(int threads) {
#pragma omp parallel num_threads(threads)
  {
    // NOLINTBEGIN(cppcoreguidelines-no-malloc): the compiler may leave out new and delete
    void* volatile memory = std::malloc(64);
    std::free(memory);
    // NOLINTEND(cppcoreguidelines-no-malloc)
  }
}

/// Buffers for so many threads of OpenBLAS, which gives them up when the process forks, and for as
/// many that call it at once. It keeps them.
void take_buffers(int threads) {
  const auto no_forks = hold_forks();
  const ThreadScope scope(threads);
  openblas_set_num_threads(threads);
  if (!blas_memory_alloc || !blas_memory_free) return;
  std::vector<void*> all(static_cast<std::size_t>(threads));
  for (void*& buffer : all) buffer = blas_memory_alloc(0);
  for (void* buffer : all) blas_memory_free(buffer);
}

}  // namespace

void settle(int threads) {
  SPEEDWELL_EXPECTS(threads >= 1);
  thread_local int settled = 0;
  if (threads <= settled) return;
  const bool is_limited = is_space_limited();
  if (omp_get_level() > 0 && !is_limited) return;  // the thread that began the region has done it
  // OpenBLAS has one for each of the threads that it has now.
  const int there = std::max(1, openblas_get_num_threads());
  const std::int64_t missing = std::max(0, 2 * threads - there) * blas_buffer_bytes;
  const bool could_start = !is_limited || can_start(threads - 1);
  if (could_start) start_team(threads);  // first: what it maps is not there for the buffers
  if (!could_start || (is_limited && !can_map(missing)))
    throw NotEnoughMemory(fmt::format(
        "a limit of the process (ulimit -v, ulimit -d) leaves no memory for {}: OpenBLAS "
        "needs {} MiB more; allowed: a larger limit, or fewer threads",
        counted(threads, "thread"), missing >> 20));
  settled = threads;  // before the scope of take_buffers()
  take_buffers(threads);
}

}  // namespace speedwell
