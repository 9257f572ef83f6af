// SPDX-License-Identifier: BSD-3-Clause
// What a solve and a benchmark make of CUDA's, they give back.
#include <cuda_emulation.hpp>
#include <speedwell/solve.hpp>

#include <functional>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "device_choice.hpp"

namespace speedwell::test::left_objects_tests {
namespace {

std::size_t left_by(const std::function<void()>& work) {
  work();  // what lives as long as the process is made here
  const std::size_t before = emulation::live_objects();
  work();
  return emulation::live_objects() - before;
}

}  // namespace

TEST_CASE("a run leaves no memory, stream, event or handle of CUDA's behind", "[memory]") {
  for (const Precision precision : {Precision::fp64, Precision::fp16}) {
    CAPTURE(name(precision));
    SolveOptions options;
    options.run.device = device_choice().device;
    options.run.comm = device_choice().comm;
    options.precision = precision;
    const auto a = [](std::int64_t i, std::int64_t j) {
      return static_cast<double>((3 * i + 7 * j) % 11) + (i == j ? 100 : 0);
    };
    CHECK(left_by([&] {
            solve(MPI_COMM_WORLD, Matrix::from_function(150, a), RightHandSide::of_ones(), options);
          }) == 0);
  }
  BenchmarkOptions options;
  options.n = 150;
  options.run.device = device_choice().device;
  options.run.comm = device_choice().comm;
  CHECK(left_by([&] {
          BenchmarkRunner runner(comm_world(), options);
          runner.warm_up();
          runner.run();
        }) == 0);
}
}  // namespace speedwell::test::left_objects_tests
