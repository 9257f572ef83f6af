// SPDX-License-Identifier: BSD-3-Clause
// Memory that is kept for a timed run.
#include <cuda_emulation.hpp>

#include <memory>
#include <utility>

#include "catch.hpp"
#include "cuda_emulation/bench.hpp"
#include "device/cuda/gpu_memory.hpp"

namespace speedwell::test::gpu_memory_tests {
namespace {

constexpr std::int64_t size = 1 << 20;

/// How often CUDA was asked for memory, and how often it got some back.
std::pair<long, long> calls() {
  return {emulation::calls_of("cudaMalloc"), emulation::calls_of("cudaFree")};
}

}  // namespace

TEST_CASE("kept memory is there for the next allocation of its size", "[memory]") {
  emulation::restart();
  const auto memory = std::make_shared<GpuMemory>();
  memory->keep(true);
  void* first = nullptr;
  {
    const Buffer a = memory->allocate(size);
    const Buffer b = memory->allocate(size);
    CHECK(a.data() != b.data());
    first = a.data();
  }
  CHECK(calls() == std::pair(2L, 0L));
  {
    const Buffer a = memory->allocate(size);
    const Buffer b = memory->allocate(size);
    CHECK((a.data() == first) != (b.data() == first));
    CHECK(calls() == std::pair(2L, 0L));
    const Buffer larger = memory->allocate(size + 1);
    CHECK(calls() == std::pair(3L, 0L));
    CHECK(memory->most() == 3 * size + 1);
    memory->keep(false);
    CHECK(calls() == std::pair(3L, 0L));
  }
  CHECK(calls() == std::pair(3L, 3L));
  CHECK(memory->most() == 3 * size + 1);
}

TEST_CASE("kept memory that the GPU may still use is waited for, and no other", "[memory]") {
  emulation::restart();
  const auto memory = std::make_shared<GpuMemory>();
  memory->keep(true);
  bool idle = false;
  memory->idle_when([&] { return idle; });
  const auto waits = [] { return emulation::calls_of("cudaDeviceSynchronize"); };
  memory->allocate(size);
  Buffer taken = memory->allocate(size);
  CHECK(waits() == 1);
  taken = {};
  idle = true;
  taken = memory->allocate(size);
  CHECK(waits() == 1);
  taken = {};
  idle = false;
  memory->settle();
  taken = memory->allocate(size);
  CHECK(waits() == 1);
}

TEST_CASE("kept memory is given up where memory runs short", "[memory]") {
  const emulation::Environment all("SPEEDWELL_EMULATED_MEMORY", "3145728");
  const auto memory = std::make_shared<GpuMemory>();
  memory->keep(true);
  Buffer held = memory->allocate(size);
  for (int i = 0; i < 2; ++i) memory->allocate(size / 2 + 1 + i);
  const Buffer large = memory->allocate(2 * size);
  CHECK(calls() == std::pair(5L, 2L));  // one was refused
  CHECK_THROWS_WITH(memory->allocate(size), ContainsSubstring("out of memory"));
  held = {};
  memory->allocate(size);
}

TEST_CASE("memory that outlives its device is given back", "[memory]") {
  emulation::restart();
  Buffer buffer;
  {
    const auto memory = std::make_shared<GpuMemory>();
    memory->keep(true);
    buffer = memory->allocate(size);
  }
  buffer = {};
  CHECK(calls() == std::pair(1L, 1L));
}
}  // namespace speedwell::test::gpu_memory_tests
