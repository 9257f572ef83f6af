// SPDX-License-Identifier: BSD-3-Clause
#include <speedwell/benchmark.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <optional>
#include <span>

#include "bench/benchmark_runner.hpp"
#include "bench/rules.hpp"
#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "factor/reporter.hpp"
#include "factor/sweep.hpp"
#include "generate/generator.hpp"
#include "grid/step.hpp"
#include "host/floating_point.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "setup/memory.hpp"

namespace speedwell {

namespace {

constexpr std::int64_t least_warming = 2048;  // order that takes a processor some 30 ms

struct Solved {
  FactorOutcome factors;
  RefineOutcome refinement;  ///< meaningful if the factors are usable
  double lu_seconds = 0;
  double refine_seconds = 0;
};

/// x from the factors: HPL solves once, HPL-MxP refines.
RefineOutcome find_x(const Setup& setup, Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec) {
  const BenchmarkOptions& o = setup.options;
  const std::int64_t width = setup.lu.width;
  if (o.benchmark == Benchmark::mxp)
    return refine(transport, lu, pivots, spec,
                  {.method = o.refine,
                   .max_iterations = o.max_iterations,
                   .width = width,
                   .corrections = setup.machine.paper ? setup.machine.paper->corrections : 0});
  RefineOutcome outcome;
  {
    const auto watch = transport.grid().all().run().stopwatch(
        outcome.times.solves, {.activity = Activity::solve, .phase = Phase::solves});
    outcome.x = speedwell::solve(transport, lu, pivots, spec, width);
  }
  outcome.converged = true;
  return outcome;
}

/// The timed part of a benchmark: factorization, and refinement or solve.
Solved solve(const Setup& setup, Transport& transport, const MatrixSpec& spec, DistributedMatrix& a,
             const ColumnsDone& done) {
  const RunContext& run = transport.grid().all().run();
  Solved solved;
  transport.grid().all().barrier();
  const double begin = run.now();
  solved.factors =
      run.stage(Activity::factorization, [&] { return factorize(transport, a, setup.lu, done); });
  const double factored = run.now();
  const bool refines = setup.options.benchmark == Benchmark::mxp;
  if (solved.factors.usable())
    solved.refinement = run.stage(refines ? Activity::refinement : Activity::solution, [&] {
      return find_x(setup, transport, a, solved.factors.pivots, spec);
    });
  solved.lu_seconds = factored - begin;
  solved.refine_seconds = run.now() - factored;
  return solved;
}

void set_times(BenchmarkResult& result, const Solved& solved, const Communicator& all) {
  std::array times{solved.lu_seconds, solved.refine_seconds,
                   solved.lu_seconds + solved.refine_seconds};
  all.all_reduce(times, Reduction::max);
  result.lu_seconds = times[0];
  result.refine_seconds = times[1];
  result.seconds = times[2];
  if (!solved.factors.usable()) return;
  const double flops = benchmark_flops(result.chosen.n);
  result.gflops = flops / result.seconds / 1e9;
  result.lu_gflops = flops / result.lu_seconds / 1e9;
}

void set_phases(BenchmarkResult& result, const Solved& solved, const Communicator& all) {
  const FactorTimes& lu = solved.factors.times;
  const RefineTimes& refinement = solved.refinement.times;
  const std::array mine{lu.panel,  lu.rows,           lu.broadcast,
                        lu.update, refinement.solves, refinement.residuals};
  const std::array phases{&result.panel,  &result.rows,   &result.broadcast,
                          &result.update, &result.solves, &result.residuals};
  const std::vector<double> times = all.all_gather(mine);
  for (int rank = 0; rank < all.size(); ++rank)
    for (std::size_t i = 0; i < phases.size(); ++i) {
      const double time = times[static_cast<std::size_t>(rank) * phases.size() + i];
      PhaseTime& phase = *phases[i];
      phase.average += time / all.size();
      if (time > phase.maximum) phase.slowest_rank = rank;
      phase.maximum = std::max(phase.maximum, time);
    }
}

void judge(BenchmarkResult& result, const std::optional<Paper>& paper, bool converged) {
  const BenchmarkOptions& o = result.chosen;
  if (paper) {
    result.passed = true;
    result.admissible = false;
    result.notes.push_back(
        fmt::format("not admissible for a submission: predicted for {}, not run", paper->machine));
    return;
  }
  const bool usable = result.factored();
  const bool checked = o.threshold > 0;
  result.passed = usable && (!checked || result.scaled_residual < o.threshold) &&
                  result.iterations <= o.max_iterations;
  const auto reject = [&](const std::string& why) {
    result.admissible = false;
    result.notes.push_back("not admissible for a submission: " + why);
  };
  result.admissible = result.passed;
  if (usable && !converged)
    result.notes.push_back(
        fmt::format("refinement ended without converging after {} corrections (at most {} allowed)",
                    result.iterations, o.max_iterations));
  for (const RuleVerdict& rule : rules_of({.benchmark = o.benchmark,
                                 .matrix = o.matrix,
                                 .fp64 = o.run.fp64,
                                 .threshold = o.threshold,
                                 .scaled_residual = result.scaled_residual,
                                 .iterations = result.iterations,
                                 .factored = usable,
                                 .passed = result.passed}))
    if (!rule.broken.empty()) reject(rule.broken);
}

/// The matrix of a warm-up: one that can be factored without pivoting, or with pivoting one whose
/// rows are exchanged.
MatrixSpec warming_matrix(std::int64_t n, Pivoting pivoting) {
  MatrixSpec spec;
  spec.kind = pivoting == Pivoting::none ? MatrixKind::scaled_diagonal : MatrixKind::hpl;
  spec.n = n;
  spec.stride = n | 1;
  spec.shift = std::sqrt(static_cast<double>(n));
  return spec;
}

/// Keeps a device in rehearsal (Device::rehearse) while the object lives.
class Rehearsal {
 public:
  explicit Rehearsal(Device& device) : device_(device) { device_.rehearse(true); }
  ~Rehearsal() { device_.rehearse(false); }
  Rehearsal(const Rehearsal&) = delete;
  Rehearsal& operator=(const Rehearsal&) = delete;

 private:
  Device& device_;
};

}  // namespace

double update_flops(const LuPlan& lu, int rank) {
  const GridPosition place = lu.grid.position(rank);
  const Distribution rows(lu.n, lu.nb, lu.grid.nprow, place.row);
  const Distribution columns(lu.n, lu.nb, lu.grid.npcol, place.column);
  const StepSequence steps(rows, columns, lu.width);
  double sum = 0;
  for (std::int64_t k = 0; k < steps.count(); ++k) {
    const Step step = steps[k];
    sum += 2. * static_cast<double>(step.width()) *
           static_cast<double>(rows.local_size() - step.trailing_row.value) *
           static_cast<double>(columns.local_size() - step.trailing_column.value);
  }
  return sum;
}

std::string no_factors(const BenchmarkResult& r) {
  SPEEDWELL_EXPECTS(!r.factored());
  if (r.bad_pivot < 0) return "no factors: Inf or NaN in a panel";
  const char* why = r.nonfinite ? "is zero or not finite, there are no factors"
                    : r.chosen.pivoting == Pivoting::partial
                        ? "is zero, A is singular"
                        : "is zero, A has no factors without pivoting";
  return fmt::format("pivot {} (from 0) {} (info = {})", r.bad_pivot, why, r.bad_pivot + 1);
}

BenchmarkRunner::BenchmarkRunner(CommHandle comm, const BenchmarkOptions& options,
                                 const RunHooks& hooks, const Profile& profile)
    : machine_(comm, options.run, std::make_unique<SteadyClock>(), hooks),
      setup_(plan(machine_, options, 0, profile)) {}

BenchmarkRunner::BenchmarkRunner(CommHandle comm, Setup planned, const RunHooks& hooks)
    : machine_(comm, planned.asked.run, std::make_unique<SteadyClock>(), hooks),
      setup_(std::move(planned)) {}

DistributedMatrix BenchmarkRunner::generate(const MatrixSpec& spec) {
  const LuPlan& lu = setup().lu;
  return agreed(all(), [&] {
    DistributedMatrix a(device(), grid().rows(spec.n, lu.nb), grid().columns(spec.n, lu.nb),
                        lu.storage());
    const auto queue = device().make_queue(Priority::normal);
    device().generate(*queue, spec, a.rows(), a.columns(), a.local());
    queue->synchronize();
    return a;
  });
}

// Kernels are loaded or compiled, threads started and algorithms chosen when they are first used;
// the benchmark should time the computation alone. So a small problem is solved first. A GPU's
// libraries choose algorithms by size: there, all steps of the real size are rehearsed before, and
// the memory that they took is kept.
void BenchmarkRunner::warm_up() {
  if (warm_) return;
  warm_ = true;
  if (setup().machine.paper) {  // nothing there is slower at first, but choices take time
    const LuPlan& plan = setup().lu;
    const auto queue = device().make_queue(Priority::high);
    device().prepare(*queue, lu_work(plan, grid().rows(plan.n, plan.nb).local_size(),
                                     grid().columns(plan.n, plan.nb).local_size()));
    return;
  }
  const auto span = machine_.run().span(Track::stages, {.activity = Activity::warm_up});
  const RunContext::Tracing none(machine_.run(), nullptr);  // this span alone
  LuPlan lu = setup().lu;
  device().keep_memory(true);
  if (lu.overlaps) {
    const Rehearsal rehearsal(device());
    const MatrixSpec whole = warming_matrix(lu.n, lu.pivoting);
    DistributedMatrix a = generate(whole);
    const FactorOutcome factors = factorize(machine_.transport(), a, lu, {}, {.rehearses = true});
    Setup one_correction = setup();
    one_correction.options.max_iterations = 1;
    if (factors.usable()) find_x(one_correction, machine_.transport(), a, factors.pivots, whole);
  }
  lu.n = std::min(lu.n, std::max(least_warming, 4 * lu.nb));
  const MatrixSpec small = warming_matrix(lu.n, lu.pivoting);
  DistributedMatrix a = generate(small);
  const FactorOutcome factors = factorize(machine_.transport(), a, lu);
  find_x(setup(), machine_.transport(), a, factors.pivots, small);
}

PeakMemory BenchmarkRunner::peak(const ResidentMeter& resident) const {
  const auto memory = device().memory();
  return peak_memory(all(), resident, memory ? std::optional(memory->most) : std::nullopt);
}

BenchmarkRun BenchmarkRunner::run(const ProgressFunction& progress, RunTrace* traced) {
  const ThreadScope threads(machine_.threads());
  std::optional<RunTracer> tracer;
  if (traced) tracer.emplace(all(), machine_.run());
  BenchmarkRun run;
  run.paper = setup().machine.paper;
  BenchmarkResult& result = run.result;
  result.chosen = setup().options;
  result.panel_width = setup().lu.width;

  const Generator generator(setup().options, all());
  const MatrixSpec& spec = generator.spec();
  warm_up();
  DistributedMatrix a = machine_.run().stage(Activity::generation, [&] { return generate(spec); });
  run.begin = std::time(nullptr);
  const Solved solved =
      solve(setup(), machine_.transport(), spec, a, reporter(all(), spec.n, progress));
  run.end = std::time(nullptr);
  if (!run.paper) {
    const std::optional<std::int64_t> mine = bytes_in_large_pages();
    run.large_pages = all().all_reduce(mine ? static_cast<double>(*mine) : unknown, Reduction::sum);
  }

  result.notes = machine_.with_remarks(setup().notes);
  run.products = device().product_choices();
  run.variants = device().variant_choices();
  set_times(result, solved, all());
  set_phases(result, solved, all());
  const double flops = update_flops(setup().lu, all().rank());
  run.update_rates =
      all().all_gather(std::array{flops > 0 ? flops / solved.factors.times.update : unknown});
  result.bad_pivot = solved.factors.bad_pivot;
  result.nonfinite = solved.factors.nonfinite;
  result.iterations = solved.refinement.iterations;
  result.method = solved.refinement.method;
  if (!run.paper) result.history = solved.refinement.history;
  result.norms = {unknown, unknown, unknown, unknown};
  result.scaled_residual = unknown;
  if (result.factored() && result.chosen.threshold > 0 && !run.paper) {
    result.norms = machine_.run().stage(Activity::verification, [&] {
      return system_norms(grid(), device(), a.rows(), a.columns(), spec, solved.refinement.x);
    });
    result.scaled_residual = scaled_residual(result.norms, spec.n);
  }
  judge(result, run.paper, solved.refinement.converged);
  if (traced) *traced = tracer->gather();
  return run;
}

std::vector<Measured> measure(CommHandle comm, const Series& series,
                              const ProgressFunction& progress,
                              const InterruptFunction& interrupt) {
  SPEEDWELL_EXPECTS(!series.configurations.empty());
  const FloatingPointScope floating_point;
  return on_this_rank(comm, [&] {
    const Benchmark benchmark = series.configurations.front().benchmark;
    require_equal_calls(comm, {{"the call", benchmark == Benchmark::mxp ? "mxp()" : "hpl()"},
                               {"configurations", option_text(std::ssize(series.configurations))},
                               {"repeat", option_text(series.repeat)},
                               {"trace", option_text(bool(series.traced))}});
    Interruption interruption(comm, interrupt, progress != nullptr);
    const RunHooks hooks{interruption.get()};
    std::unique_ptr<BenchmarkRunner> runner;
    const auto work = [&] {
      std::vector<Measured> all;
      for (const BenchmarkOptions& options : series.configurations) {
        runner.reset();
        runner = std::make_unique<BenchmarkRunner>(comm, options, hooks, series.profile);
        all.push_back({runner->setup(), {}});
      }
      for (Measured& one : all) {
        if (all.size() > 1) {
          runner.reset();
          runner = std::make_unique<BenchmarkRunner>(comm, one.setup, hooks);
        }
        for (int turn = 0; turn < series.repeat; ++turn) {
          RunTrace trace;
          one.runs.push_back(runner->run(progress, series.traced ? &trace : nullptr));
          if (series.traced) series.traced(one.setup, turn, std::move(trace));
        }
      }
      return all;
    };
    return interruption.during(work, [&] { runner.reset(); });
  });
}

namespace {
BenchmarkResult run_as(Benchmark benchmark, CommHandle comm, BenchmarkOptions options,
                       const ProgressFunction& progress, const InterruptFunction& interrupt) {
  options.benchmark = benchmark;
  return measure(comm, {{options}}, progress, interrupt).front().runs.front().result;
}
}  // namespace

BenchmarkResult mxp(MPI_Comm comm, const BenchmarkOptions& options,
                    const ProgressFunction& progress, const InterruptFunction& interrupt) {
  return run_as(Benchmark::mxp, comm, options, progress, interrupt);
}

BenchmarkResult hpl(MPI_Comm comm, const BenchmarkOptions& options,
                    const ProgressFunction& progress, const InterruptFunction& interrupt) {
  return run_as(Benchmark::hpl, comm, options, progress, interrupt);
}

}  // namespace speedwell
