// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "generate/generator.hpp"
#include "grid/step.hpp"
#include "host/thread_scope.hpp"
#include "setup/footprint.hpp"

namespace speedwell {

std::optional<StepWindow> BenchmarkRunner::window(const LuPlan& lu, std::int64_t columns) const {
  const StepSequence steps(grid().rows(lu.n, lu.nb), grid().columns(lu.n, lu.nb), lu.width);
  return step_window(steps, lu.n, lu.lookahead, lu.overlaps, columns);
}

bool BenchmarkRunner::retune(const Tuning& tuning, std::int64_t columns) {
  const LuPlan lu = tuned(setup().lu, tuning, setup().memory_fraction * setup().budget.rank_free);
  if (rank_bytes(lu) > setup().budget.rank_free || !window(lu, columns)) return false;
  setup_.lu = lu;
  return true;
}

FirstSteps BenchmarkRunner::first_steps(std::int64_t columns) {
  const ThreadScope threads(machine_.threads());
  const std::optional<StepWindow> accepted = window(setup().lu, columns);
  SPEEDWELL_EXPECTS(accepted.has_value());
  const StepWindow& steps = *accepted;
  const Generator generator(setup().options, all());
  warm_up();
  all().barrier();
  const double begin = machine_.run().now();
  DistributedMatrix a = generate(generator.spec());
  all().barrier();
  const double generated = machine_.run().now();

  std::vector<double> ends{generated};  // ends[k]: time at the end of step k, for k > 0
  const ColumnsDone note = [&](std::int64_t) { ends.push_back(machine_.run().now()); };
  const FactorOutcome factors =
      factorize(machine_.transport(), a, setup().lu, note, {.steps = steps.last + 1});
  if (!factors.usable())
    throw AgreedFault("the first steps met a pivot that is zero or not finite");
  const auto since = [&](std::int64_t step) {
    return ends[static_cast<std::size_t>(step)] - generated;
  };
  std::array times{generated - begin, machine_.run().now() - generated, since(steps.first),
                   since(steps.last)};
  all().all_reduce(times, Reduction::max);
  constexpr double least = 1e-9;  // seconds: the resolution of a clock, so as not to divide by 0
  return {times[0], times[1], steps.operations / std::max(times[3] - times[2], least)};
}

}  // namespace speedwell
