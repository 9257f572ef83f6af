#include <algorithm>
#include <array>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "comm/agreement.hpp"
#include "device/cpu/thread_scope.hpp"
#include "generate/generator.hpp"
#include "grid/step.hpp"

namespace lupine {

std::optional<StepWindow> BenchmarkRunner::window(const Setup& setup, std::int64_t columns) const {
  const std::int64_t n = setup.options.n;
  const std::int64_t nb = setup.footprint.nb;
  const Plan plan(grid_.rows(n, nb), grid_.columns(n, nb), setup.panel_width);
  return step_window(plan, n, setup.options.lookahead, prepared_.device->overlaps(), columns);
}

bool BenchmarkRunner::retune(const Tuning& tuning, std::int64_t columns) {
  Setup other = setup();
  BenchmarkOptions& o = other.options;
  o.nb = tuning.nb;
  o.lookahead = tuning.lookahead;
  o.chunk = tuning.chunk == 0 ? o.n : std::min(tuning.chunk, o.n);
  other.footprint.nb = std::min(o.nb, o.n);
  other.footprint.lookahead = o.lookahead;
  other.footprint.chunk = o.chunk;
  other.panel_width = other.footprint.panel_width();
  const bool fits = other.footprint.rank_bytes() <= other.budget.rank_free;
  if (!fits || !window(other, columns)) return false;
  prepared_.setup = std::move(other);
  return true;
}

FirstSteps BenchmarkRunner::first_steps(std::int64_t columns) {
  const ThreadScope threads(prepared_.device_options.threads);
  const StepWindow steps = *window(setup(), columns);
  const Generator generator(setup().options, all_);
  warm_up();
  all_.barrier();
  const double begin = clock_.now();
  DistributedMatrix a = generate(generator.spec());
  all_.barrier();
  const double generated = clock_.now();

  FactorOptions options = factor_options(setup());
  options.steps = steps.last + 1;
  std::vector<double> ends{generated};  // of the steps
  const ColumnsDone note = [&](std::int64_t) { ends.push_back(clock_.now()); };
  const FactorOutcome factors = factorize(transport_, a, options, clock_, note);
  if (!factors.usable())
    throw AgreedFault("the first steps met a pivot that is zero or not finite");
  const auto since = [&](std::int64_t step) {
    return ends[static_cast<std::size_t>(step)] - generated;
  };
  std::array times{generated - begin, clock_.now() - generated, since(steps.first),
                   since(steps.last)};
  all_.all_reduce(times, Reduction::max);
  // Where panels run beside updates, the shorter ones save nothing.
  const double panels = all_.all_reduce(factors.times.panel, Reduction::sum) / all_.size();
  const double saved = prepared_.device->overlaps() ? 0 : steps.shorter * panels;
  constexpr double least = 1e-9;  // a clock's step
  return {times[0], times[1], steps.operations / std::max(times[3] - times[2] + saved, least)};
}

}  // namespace lupine
