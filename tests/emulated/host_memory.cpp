// SPDX-License-Identifier: BSD-3-Clause
#include "emulated/host_memory.hpp"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <cuda_emulation.hpp>
#include <new>

namespace {

std::atomic<std::ptrdiff_t> now = 0;
std::atomic<std::ptrdiff_t> most = 0;

}  // namespace

// The emulation allocates device memory and pinned memory with the operator new that takes an
// alignment, so this operator does not count them. Where one of both operators is inlined, GCC 13
// takes the other's memory for that of another allocator.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const at = std::malloc(bytes == 0 ? 1 : bytes);
  if (at == nullptr) throw std::bad_alloc();
  const auto size = static_cast<std::ptrdiff_t>(malloc_usable_size(at));
  const std::ptrdiff_t total = now.fetch_add(size) + size;
  std::ptrdiff_t before = most.load();
  while (before < total && !most.compare_exchange_weak(before, total)) {
  }
  return at;
}

[[gnu::noinline]] void operator delete(void* at) noexcept {
  if (at != nullptr) now.fetch_sub(static_cast<std::ptrdiff_t>(malloc_usable_size(at)));
  std::free(at);
}
void operator delete(void* at, std::size_t) noexcept {
  operator delete(at);
}

namespace speedwell::test {

std::size_t host_memory_of(const std::function<void()>& work) {
  emulation::restart();
  const std::size_t pinned = emulation::most_pinned();
  const std::ptrdiff_t begin = now.load();
  most.store(begin);
  work();
  return static_cast<std::size_t>(most.load() - begin) + emulation::most_pinned() - pinned;
}

}  // namespace speedwell::test
