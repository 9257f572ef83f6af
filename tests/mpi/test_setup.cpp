// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/options.hpp>

#include <memory>

#include "catch.hpp"
#include "clocks.hpp"
#include "comm/communicator.hpp"
#include "device_choice.hpp"
#include "setup/defaults.hpp"
#include "setup/plan.hpp"
#include "setup/sizing.hpp"

namespace speedwell::test::setup_tests {
namespace {

/// The setup of a run with this time target, on a clock by which each product takes a quarter of a
/// second.
Setup chosen(const Communicator& all, Benchmark benchmark, double seconds, std::int64_t most_n) {
  BenchmarkOptions options;
  options.benchmark = benchmark;
  options.run.nb = 1;
  options.run.threads = 1;
  options.time_target = seconds;
  options.run.device = test::device_choice().device;
  options.run.comm = test::device_choice().comm;
  const Machine machine(all.handle(), options.run, std::make_unique<test::CountingClock>(0.25));
  return plan(machine, options, most_n);
}

}  // namespace

TEST_CASE("the largest n for a time follows from the rate that was measured", "[bench]") {
  const Communicator all = Communicator::duplicate(comm_world());
  const double rate = all.size() * 2. * 1024 * 1024 / 0.25;  // products of panels of one column
  for (const Benchmark benchmark : {Benchmark::mxp, Benchmark::hpl}) {
    const Pivoting pivoting = benchmark == Benchmark::hpl ? Pivoting::partial : Pivoting::none;
    for (const double seconds : {0.5, 4.}) {
      const std::int64_t n = largest_n_in_time(seconds, typical_efficiency(pivoting) * rate);
      CAPTURE(name(benchmark), seconds, n);
      for (const std::int64_t most : {std::int64_t{0}, n + 1}) {
        const Setup setup = chosen(all, benchmark, seconds, most);
        CHECK(setup.options.n == n);
        CHECK_THAT(setup.reasons.n, ContainsSubstring("for about "));
      }
      const Setup bounded = chosen(all, benchmark, seconds, n - 1);
      CHECK(bounded.options.n == n - 1);
      CHECK(bounded.reasons.n == "no larger than the other benchmark's");
    }
  }
}
}  // namespace speedwell::test::setup_tests
