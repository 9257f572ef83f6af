// SPDX-License-Identifier: BSD-3-Clause
// Updates beside panels run in parts of the multiprocessors where the driver has green contexts.
#include <cuda_emulation.hpp>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "cuda_emulation/bench.hpp"
#include "device/cuda/green_parts.hpp"
#include "device/cuda/lane.hpp"
#include "device_choice.hpp"

namespace speedwell::test::green_parts_tests {
namespace {

constexpr const char* green_contexts = "SPEEDWELL_EMULATED_GREEN_CONTEXTS";

BenchmarkRun run(std::int64_t reserve) {
  BenchmarkOptions options;
  options.precision = Precision::fp16;
  options.n = 333;
  options.run.nb = 40;
  options.run.reserve = static_cast<int>(reserve);
  options.run.device = device_choice().device;
  options.run.comm = device_choice().comm;
  return BenchmarkRunner(comm_world(), options).run();
}

/// Products in parts while `work` runs.
template <class Work>
long in_parts(Work&& work) {
  const long before = emulation::calls_of("product in a part");
  work();
  return emulation::calls_of("product in a part") - before;
}

bool any_confined(const BenchmarkRun& run) {
  return std::ranges::any_of(run.products, &ProductChoice::confined);
}

}  // namespace

TEST_CASE("updates beside a panel run in a part of the multiprocessors", "[parts]") {
  BenchmarkRun measured;
  const long beside = in_parts([&] { measured = run(-1); });
  CHECK(beside > 0);
  CHECK(measured.result.passed);
  CHECK(any_confined(measured));
  BenchmarkRun none;
  CHECK(in_parts([&] { none = run(0); }) == 0);
  CHECK(none.result.passed);
  CHECK(none.result.scaled_residual == measured.result.scaled_residual);
}

TEST_CASE("without green contexts, algorithms keep to the limit", "[parts]") {
  const double expected = run(-1).result.scaled_residual;
  for (const char* state : {"none", "fail"}) {
    CAPTURE(state);
    const emulation::Environment environment(green_contexts, state);
    BenchmarkRun plain;
    CHECK(in_parts([&] { plain = run(-1); }) == 0);
    CHECK(plain.result.passed);
    CHECK(plain.result.scaled_residual == expected);
    CHECK(!any_confined(plain));
  }
}

TEST_CASE("a part leaves the multiprocessors that it should", "[parts]") {
  const emulation::Environment environment("SPEEDWELL_EMULATED_MULTIPROCESSORS", "133");
  const std::shared_ptr<GreenParts> parts = GreenParts::make(0);
  REQUIRE(parts != nullptr);
  CHECK(parts->unit() == 2);
  CHECK(parts->size(8) == 124);
  CHECK(parts->size(9) == 124);
  CHECK(parts->size(131) == 2);
  CHECK(parts->size(132) == 0);
  CHECK(parts->make_stream(132, 0) == nullptr);
}

TEST_CASE("a lane that goes on in a part does so behind its own work", "[parts]") {
  const std::shared_ptr<GreenParts> parts = GreenParts::make(0);
  REQUIRE(parts != nullptr);
  Lane lane(Priority::normal);
  lane.add_part(parts, 2);
  lane.add_part(parts, 2);
  const cudaStream_t own = lane.stream();
  CHECK(!lane.is_confined());
  const Buffer memory = allocate_on_gpu(sizeof(int));
  for (int i = 1; i <= 60; ++i) {
    REQUIRE(cudaMemsetAsync(memory.data(), i, sizeof(int), lane.stream()) == cudaSuccess);
    lane.set_multiprocessors(i % 3 == 0 ? 0 : i % 3 == 1 ? parts->size(2) : 1);
    CHECK(lane.is_confined() == (i % 3 == 1));
    CHECK((lane.stream() == own) == (i % 3 != 1));
    int found = 0;
    REQUIRE(cudaMemcpyAsync(&found, memory.data(), sizeof(int), cudaMemcpyDeviceToHost,
                            lane.stream()) == cudaSuccess);
    REQUIRE(cudaStreamSynchronize(lane.stream()) == cudaSuccess);
    CHECK(found == i * 0x01010101);
  }
}
}  // namespace speedwell::test::green_parts_tests
