// SPDX-License-Identifier: BSD-3-Clause
// The warm-up chooses all algorithms, loads all kernels and allocates all memory of a run before
// its clock starts.
#include <cuda_emulation.hpp>

#include <array>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "device_choice.hpp"

namespace speedwell::test::warm_up_tests {
namespace {

/// What waits for a GPU, or takes the host long: no run may do that between its first step and its
/// last one.
constexpr std::array first_times{"cudaMalloc",
                                 "cudaFree",
                                 "cudaMallocHost",
                                 "cudaFreeHost",
                                 "cudaStreamCreateWithPriority",
                                 "cudaStreamDestroy",
                                 "cuGreenCtxCreate",
                                 "cublasCreate",
                                 "cublasLtMatmulAlgoGetHeuristic",
                                 "cublasLtMatmulAlgoCheck",
                                 "cudaStreamBeginCapture"};

std::vector<long> count_first_times() {
  std::vector<long> counts;
  counts.reserve(first_times.size());
  for (const char* const name : first_times) counts.push_back(emulation::calls_of(name));
  return counts;
}

void check(Benchmark benchmark, Pivoting pivoting, std::int64_t n, std::int64_t nb, int lookahead,
           std::int64_t chunk) {
  BenchmarkOptions options;
  options.benchmark = benchmark;
  options.pivoting = pivoting;
  options.n = n;
  options.run.nb = nb;
  options.run.lookahead = lookahead;
  options.run.chunk = chunk;
  options.threshold = 0;  // HPL computes a residual only after its clock has stopped
  options.run.device = device_choice().device;
  options.run.comm = device_choice().comm;
  CAPTURE(name(benchmark), name(pivoting), n, nb, lookahead, chunk);
  BenchmarkRunner runner(comm_world(), options);
  runner.warm_up();
  const std::vector<long> before = count_first_times();
  const long waits = emulation::calls_of("cudaDeviceSynchronize");
  const std::size_t kernels = emulation::kernels_started();
  const BenchmarkResult result = runner.run().result;
  const std::vector<long> after = count_first_times();
  CHECK(result.passed);
  CHECK(emulation::kernels_started() == kernels);
  // Before the LU and before the corrections take memory that the GPU may have used.
  CHECK(emulation::calls_of("cudaDeviceSynchronize") - waits <= 2);
  for (std::size_t i = 0; i < first_times.size(); ++i) {
    CAPTURE(first_times[i]);
    CHECK(after[i] - before[i] == 0);
  }
}

}  // namespace

TEST_CASE("no algorithm is chosen and no kernel loaded while a benchmark is timed", "[warm-up]") {
  struct Size {
    std::int64_t n, nb, chunk;
  };
  // Some orders are above that of the warm-up's small problem, which is 2048 or four blocks.
  int lookahead = 0;
  for (const Size& s : {Size{513, 64, 128}, Size{2081, 192, 500}, Size{2051, 100, 0}})
    check(Benchmark::mxp, Pivoting::none, s.n, s.nb, lookahead++ % 2, s.chunk);
  check(Benchmark::mxp, Pivoting::partial, 700, 64, 1, 200);
  check(Benchmark::hpl, Pivoting::partial, 700, 96, 1, 0);
}
}  // namespace speedwell::test::warm_up_tests
