// SPDX-License-Identifier: BSD-3-Clause
// An allocation that a GPU refuses in the middle of a run; and updates of a very large C.
#include <cuda_emulation.hpp>
#include <speedwell/solve.hpp>

#include <cstdint>
#include <cstdlib>
#include <span>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "core/memory_fault.hpp"
#include "device/device.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"

namespace speedwell::test::memory_failures_tests {
namespace {

Solution solved() {
  constexpr std::int64_t n = 100;
  SolveOptions options;
  options.run.device = DeviceKind::cuda;
  options.run.nb = 16;
  options.precision = Precision::fp64;
  const auto element = [](std::int64_t i, std::int64_t j) {
    return i == j ? 9. : 1. / static_cast<double>(1 + i + 2 * j);
  };
  return solve(MPI_COMM_WORLD, Matrix::from_function(n, element), RightHandSide::of_ones(),
               options);
}

}  // namespace

TEST_CASE("a refused allocation of a rank alone is OutOfMemory, and the next solve is right",
          "[memory]") {
  if (device_choice().device != DeviceKind::cuda || ranks_in(MPI_COMM_WORLD) > 1) return;
  emulation::restart();
  REQUIRE(solved().converged);
  const long calls = emulation::calls_of("cudaMalloc");
  REQUIRE(calls > 10);
  long refused = 0;
  for (long call = 1; call <= calls; ++call) {
    CAPTURE(call);
    // And the second try, for which what was kept is given up.
    const std::string failure = "cudaMalloc:" + std::to_string(call) + ":2:2";
    setenv("SPEEDWELL_EMULATED_FAILURE", failure.c_str(), 1);
    emulation::restart();
    try {
      const bool converged = solved().converged;  // CHECK would take the exception
      CHECK(converged);
    } catch (const OutOfMemory&) {
      ++refused;
    }
    unsetenv("SPEEDWELL_EMULATED_FAILURE");
  }
  CHECK(refused > calls / 2);
  emulation::restart();
  CHECK(solved().converged);
}

TEST_CASE("panels for which one rank has no room are OutOfMemory on all ranks", "[memory]") {
  if (device_choice().device != DeviceKind::cuda) return;
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  const int last = all.size() - 1;
  BenchmarkOptions options;
  options.n = 100;
  options.run.nb = 16;
  options.matrix = MatrixKind::hpl;
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    Problem p(all, shape, options, Precision::fp64);
    const LuPlan plan{.width = 16, .precision = Precision::fp64, .pivoting = Pivoting::partial};
    const auto allocate = [&] { return p.factor(plan, {.steps = 0}); };
    // Its queues are used again, in an order by the memory that they have got.
    for (int warmed = 0; warmed < 3; ++warmed) allocate();
    emulation::restart();
    allocate();
    long calls = emulation::calls_of("cudaMalloc");
    all.broadcast(std::span(&calls, 1), last);
    REQUIRE(calls > 1);
    for (long call = 1; call <= calls; ++call) {
      CAPTURE(call);
      const std::string failure = "cudaMalloc:" + std::to_string(call) + ":2";
      if (all.rank() == last) setenv("SPEEDWELL_EMULATED_FAILURE", failure.c_str(), 1);
      emulation::restart();
      CHECK_THROWS_AS(allocate(), OutOfMemory);
      unsetenv("SPEEDWELL_EMULATED_FAILURE");
    }
    emulation::restart();
    CHECK(p.factor(plan).usable());
  }
}

TEST_CASE("no product of an update spans 2^31 elements of C", "[memory]") {
  if (device_choice().device != DeviceKind::cuda || ranks_in(MPI_COMM_WORLD) > 1) return;
  const auto device = make_device({.kind = DeviceKind::cuda});
  const auto queue = device->make_queue(Priority::normal);
  constexpr std::int64_t order = 16;  // of L, and the rows of U and C
  constexpr std::int64_t columns = 16384;
  constexpr std::int64_t ld = 131104;  // ld columns is a little more than 2^31
  constexpr std::int64_t size = sizeof(float);
  Buffer memory;
  try {
    memory = device->allocate(ld * columns * size);  // a page of each column is used
  } catch (const MemoryFault&) {
    WARN("SKIPPED: 8.6 GB of addresses are not to be had");
    return;
  }
  std::vector<float> l(order * order, 0);
  for (std::size_t i = 0; i < order; ++i) l[i * (order + 1)] = 1;
  std::vector<float> u(order * columns);
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = static_cast<float>(i % 1000);
  const Buffer l_memory = device->allocate(order * order * size);
  const Buffer u_memory = device->allocate(order * columns * size);
  const Buffer control = device->allocate(sizeof(PanelControl));
  const std::vector<PanelControl> unscaled(1);
  device->upload(*queue, l, l_memory.as<float>());
  device->upload(*queue, u, u_memory.as<float>());
  device->upload(*queue, unscaled, control.as<PanelControl>());
  const std::vector<float> ones(order, 1);
  const AnyMatrix c{Precision::fp32, memory.data(), order, columns, ld};
  for (std::int64_t j = 0; j < columns; ++j) device->upload(*queue, ones, c.as<float>().column(j));
  device->update(
      *queue, {Precision::fp32, l_memory.data(), order, order, order}, control.as<PanelControl>(),
      {Precision::fp32, u_memory.data(), order, columns, order}, control.as<PanelControl>(), c, {});
  std::int64_t wrong = 0;
  std::vector<float> column(order);
  for (std::int64_t j = 0; j < columns; j += 37) {
    device->download(*queue, c.as<float>().column(j), column);
    for (std::size_t i = 0; i < order; ++i)
      wrong +=
          static_cast<std::int64_t>(column[i] != 1 + u[i + static_cast<std::size_t>(j) * order]);
  }
  CHECK(wrong == 0);
}
}  // namespace speedwell::test::memory_failures_tests
