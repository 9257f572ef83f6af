// SPDX-License-Identifier: BSD-3-Clause
#include "bench/memory_passes.hpp"

#include <omp.h>

#include <algorithm>

#include "core/fastest.hpp"
#include "cpu/loops.hpp"
#include "device/cpu/cpu_device.hpp"
#include "host/processor.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

void read(std::span<std::uint64_t> part) {
  volatile std::uint64_t kept =
      loops().sum_of_words(part.data(), static_cast<std::int64_t>(part.size()));
  static_cast<void>(kept);
}

/// The triad on the three thirds of a thread's part.
void triad(std::span<std::uint64_t> part) {
  const std::size_t third = part.size() / 3;
  auto* a = reinterpret_cast<double*>(part.data());
  loops().triad(a + third, a + 2 * third, 3, a, static_cast<std::int64_t>(third));
}

}  // namespace

void on_parts(std::span<std::uint64_t> words, int threads,
              const std::function<void(std::span<std::uint64_t>)>& work) {
#pragma omp parallel num_threads(threads)
  {
    const std::size_t size = words.size() / static_cast<std::size_t>(omp_get_num_threads());
    work(words.subspan(size * static_cast<std::size_t>(omp_get_thread_num()), size));
  }
}

std::int64_t memory_pass_bytes(int node_ranks) {
  constexpr std::int64_t least = std::int64_t{64} << 20;
  const std::int64_t wanted = std::max(least, 4 * cache_bytes()) / node_ranks;
  constexpr std::int64_t fewest = std::int64_t{1} << 20;
  return std::clamp(wanted, fewest, std::max(fewest, allocatable_memory(node_ranks) / 4));
}

// Each thread writes its part first: a page lies on the memory node of the thread that touches it
// first, and pages without a write are all the same page of zeros.
HostMemory::HostMemory(std::int64_t bytes, int threads)
    : memory_(CpuDevice(threads).allocate(bytes)), threads_(threads) {
  on_parts({memory_.as<std::uint64_t>(), static_cast<std::size_t>(bytes / 8)}, threads,
           [](std::span<std::uint64_t> part) { std::ranges::fill(part, std::uint64_t{0}); });
}

void HostMemory::pass(MemoryPass pass) {
  on_parts({memory_.as<std::uint64_t>(), static_cast<std::size_t>(memory_.bytes() / 8)}, threads_,
           pass == MemoryPass::read ? read : triad);
}

double memory_rate(MemoryPass pass, std::int64_t bytes, int threads, double seconds,
                   const Clock& clock) {
  HostMemory memory(bytes, threads);
  return static_cast<double>(bytes) / fastest(clock, seconds, [&] { memory.pass(pass); });
}

}  // namespace speedwell
