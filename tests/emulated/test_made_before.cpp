// SPDX-License-Identifier: BSD-3-Clause
// Nothing that may wait for the whole GPU is called while messages of NCCL are under way: a handle
// made, memory allocated or freed. The peer may wait for this host.
#include <cuda_emulation.hpp>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "device_choice.hpp"

namespace speedwell::test::made_before_tests {
TEST_CASE("handles and memory are made before messages are under way", "[.order]") {
  for (const Benchmark benchmark : {Benchmark::mxp, Benchmark::hpl})
    for (const int lookahead : {0, 1})
      for (const std::int64_t n : {200, 333}) {
        CAPTURE(name(benchmark), lookahead, n);
        BenchmarkOptions options;
        options.benchmark = benchmark;
        options.precision = benchmark == Benchmark::mxp ? Precision::fp16 : Precision::fp64;
        options.n = n;
        options.run.nb = n == 200 ? 96 : 40;  // with one tile on the diagonal, and with more
        options.run.lookahead = lookahead;
        options.run.device = device_choice().device;
        options.run.comm = device_choice().comm;
        BenchmarkRunner runner(comm_world(), options);
        const long before = emulation::calls_of("made beside messages");
        CHECK(runner.run().result.passed);
        CHECK(emulation::calls_of("made beside messages") == before);
      }
}
}  // namespace speedwell::test::made_before_tests
