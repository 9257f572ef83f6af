// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <array>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "comm/agreement.hpp"
#include "core/expects.hpp"
#include "device/cpu/thread_scope.hpp"
#include "generate/generator.hpp"
#include "grid/step.hpp"

namespace lupine {

std::optional<StepWindow> BenchmarkRunner::window(const Setup& setup, std::int64_t columns) const {
  const std::int64_t n = setup.options.n;
  const std::int64_t nb = setup.footprint.nb;
  const Plan plan(grid().rows(n, nb), grid().columns(n, nb), setup.panel_width);
  return step_window(plan, n, setup.options.run.lookahead, device().overlaps(), columns);
}

bool BenchmarkRunner::retune(const Tuning& tuning, std::int64_t columns) {
  Setup other = setup();
  BenchmarkOptions& o = other.options;
  o.run.nb = tuning.nb;
  o.run.lookahead = tuning.lookahead;
  o.run.chunk = tuning.chunk == 0 ? o.n : std::min(tuning.chunk, o.n);
  other.footprint.nb = std::min(o.run.nb, o.n);
  other.footprint.lookahead = o.run.lookahead;
  other.footprint.chunk = o.run.chunk;
  other.panel_width = other.footprint.panel_width();
  const bool fits = other.footprint.rank_bytes() <= other.budget.rank_free;
  if (!fits || !window(other, columns)) return false;
  setup_ = std::move(other);
  return true;
}

FirstSteps BenchmarkRunner::first_steps(std::int64_t columns) {
  const ThreadScope threads(machine_.threads());
  const std::optional<StepWindow> accepted = window(setup(), columns);
  LUPINE_EXPECTS(accepted.has_value());
  const StepWindow& steps = *accepted;
  const Generator generator(setup().options, all());
  warm_up();
  all().barrier();
  const double begin = clock().now();
  DistributedMatrix a = generate(generator.spec());
  all().barrier();
  const double generated = clock().now();

  FactorOptions options = factor_options(setup());
  options.steps = steps.last + 1;
  std::vector<double> ends{generated};  // ends[k]: time at the end of step k, for k > 0
  const ColumnsDone note = [&](std::int64_t) { ends.push_back(clock().now()); };
  const FactorOutcome factors = factorize(machine_.transport(), a, options, clock(), note);
  if (!factors.usable())
    throw AgreedFault("the first steps met a pivot that is zero or not finite");
  const auto since = [&](std::int64_t step) {
    return ends[static_cast<std::size_t>(step)] - generated;
  };
  std::array times{generated - begin, clock().now() - generated, since(steps.first),
                   since(steps.last)};
  all().all_reduce(times, Reduction::max);
  constexpr double least = 1e-9;  // seconds: the resolution of a clock, so as not to divide by 0
  return {times[0], times[1], steps.operations / std::max(times[3] - times[2], least)};
}

}  // namespace lupine
