// SPDX-License-Identifier: BSD-3-Clause
// The warm-up chooses all algorithms and loads all kernels of a run before its clock starts.
#include <cuda_emulation.hpp>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "device_choice.hpp"

namespace lupine::test::warm_up_tests {
namespace {

/// Counts of what a GPU does only at the first use of a product or kernel, as the emulation counts
/// it.
struct FirstTimes {
  long choices = emulation::calls_of("cublasLtMatmulAlgoGetHeuristic");
  std::size_t kernels = emulation::kernels_started();
  bool operator==(const FirstTimes&) const = default;
};

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
  BenchmarkRunner runner(MPI_COMM_WORLD, options);
  runner.warm_up();
  const FirstTimes before;
  const BenchmarkResult result = runner.run().result;
  const FirstTimes after;
  CHECK(result.passed);
  CHECK(after.choices == before.choices);
  CHECK(after.kernels == before.kernels);
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
}  // namespace lupine::test::warm_up_tests
