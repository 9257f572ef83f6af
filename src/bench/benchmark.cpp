#include <lupine/benchmark.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "bench/agreement.hpp"
#include "bench/benchmark_runner.hpp"
#include "generate/generator.hpp"
#include "refine/refinement.hpp"

namespace lupine {

namespace {

constexpr double threshold = 16;
constexpr int most_admissible_iterations = 50;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

struct Solved {
  FactorOutcome factors;
  RefineOutcome refinement;  ///< meaningful if the factors are usable
  double lu_seconds = 0;
  double refine_seconds = 0;
};

FactorOptions factor_options(const Setup& setup) {
  return {.precision = setup.options.precision,
          .width = setup.panel_width,
          .lookahead = setup.options.lookahead,
          .broadcast = setup.options.broadcast};
}

/// What the benchmark times.
Solved solve(const Setup& setup, Transport& transport, const MatrixSpec& spec, DistributedMatrix& a,
             const Clock& clock, const ColumnsDone& done) {
  const ProcessGrid& grid = transport.grid();
  Solved solved;
  grid.all().barrier();
  const double begin = clock.now();
  solved.factors = factorize(transport, a, factor_options(setup), clock, done);
  const double factored = clock.now();
  if (solved.factors.usable())
    solved.refinement = refine(transport, a, solved.factors.pivots, spec,
                               {.method = setup.options.refine,
                                .max_iterations = setup.options.max_iterations,
                                .width = setup.panel_width},
                               clock);
  solved.lu_seconds = factored - begin;
  solved.refine_seconds = clock.now() - factored;
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
  const std::array mine{lu.panel, lu.broadcast, lu.update, refinement.solves, refinement.residuals};
  const std::array phases{&result.panel, &result.broadcast, &result.update, &result.solves,
                          &result.residuals};
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

void note_unusable(BenchmarkResult& result, const FactorOutcome& factors) {
  result.norms = {unknown, unknown, unknown, unknown};
  result.scaled_residual = unknown;
  result.bad_pivot = factors.bad_pivot;
  result.notes.push_back(
      factors.bad_pivot >= 0
          ? fmt::format("no factorization: pivot {} (from 0) is zero or not finite",
                        factors.bad_pivot)
          : std::string("no factorization: infinite values in a panel"));
}

void judge(BenchmarkResult& result, bool usable, bool converged) {
  const BenchmarkOptions& o = result.chosen;
  result.passed =
      usable && result.scaled_residual < threshold && result.iterations <= o.max_iterations;
  const auto reject = [&](std::string why) {
    result.admissible = false;
    result.notes.push_back("not admissible for a submission: " + std::move(why));
  };
  result.admissible = result.passed;
  if (usable && !converged)
    result.notes.push_back(
        fmt::format("refinement ended without converging after {} corrections (at most {} allowed)",
                    result.iterations, o.max_iterations));
  if (o.matrix == MatrixKind::dominant) reject("a diagonally dominant matrix is for testing");
  if (result.iterations > most_admissible_iterations)
    reject(fmt::format("{} iterations, allowed are {}", result.iterations,
                       most_admissible_iterations));
  if (!result.passed) reject("the run failed");
}

}  // namespace

BenchmarkRunner::BenchmarkRunner(MPI_Comm comm, const BenchmarkOptions& options)
    : all_(Communicator::duplicate(comm)),
      prepared_(prepare(all_, options, clock_)),
      grid_(all_, prepared_.setup.footprint.shape),
      transport_(grid_, *prepared_.device, prepared_.setup.options.comm) {}

DistributedMatrix BenchmarkRunner::generate(const MatrixSpec& spec) {
  const std::int64_t nb = setup().footprint.nb;
  return agreed(all_, [&] {
    DistributedMatrix a(*prepared_.device, grid_.rows(spec.n, nb), grid_.columns(spec.n, nb));
    const auto queue = prepared_.device->make_queue(Priority::normal);
    prepared_.device->generate(*queue, spec, a.rows(), a.columns(), a.local());
    queue->synchronize();
    return a;
  });
}

// A GPU loads its kernels, and libraries find their algorithms, when first used: what the benchmark
// times is the computation. First steps of this size, then all of a small problem.
void BenchmarkRunner::warm_up(const MatrixSpec& spec) {
  if (warm_ || !prepared_.device->overlaps()) return;
  warm_ = true;
  FactorOptions options = factor_options(setup());
  {
    DistributedMatrix a = generate(spec);
    options.steps = 2;
    factorize(transport_, a, options, clock_);
  }
  options.steps = -1;
  MatrixSpec small = spec;
  small.kind = MatrixKind::scaled_diagonal;
  small.n = std::min(spec.n, 4 * setup().footprint.nb);
  small.stride = small.n | 1;
  small.shift = std::sqrt(static_cast<double>(small.n));
  DistributedMatrix a = generate(small);
  const FactorOutcome factors = factorize(transport_, a, options, clock_);
  refine(transport_, a, factors.pivots, small, {.width = setup().panel_width}, clock_);
}

ColumnsDone BenchmarkRunner::report_to(const ProgressFunction& progress) const {
  if (!progress || all_.rank() != 0) return {};
  return [this, &progress, begin = clock_.now()](std::int64_t columns) {
    progress({columns, setup().options.n, clock_.now() - begin});
  };
}

BenchmarkRun BenchmarkRunner::run(const ProgressFunction& progress) {
  Device& device = *prepared_.device;
  BenchmarkRun run;
  BenchmarkResult& result = run.result;
  result.chosen = setup().options;
  result.panel_width = setup().panel_width;
  result.notes = setup().notes;

  const Generator generator(setup().options, all_);
  const MatrixSpec& spec = generator.spec();
  warm_up(spec);
  DistributedMatrix a = generate(spec);
  run.begin = std::time(nullptr);
  const Solved solved = solve(setup(), transport_, spec, a, clock_, report_to(progress));
  run.end = std::time(nullptr);

  set_times(result, solved, all_);
  set_phases(result, solved, all_);
  if (solved.factors.usable()) {
    result.iterations = solved.refinement.iterations;
    result.method = solved.refinement.method;
    result.history = solved.refinement.history;
    result.norms = system_norms(grid_, device, a.rows(), a.columns(), spec, solved.refinement.x);
    result.scaled_residual = scaled_residual(result.norms, spec.n);
  } else {
    note_unusable(result, solved.factors);
  }
  judge(result, solved.factors.usable(), solved.refinement.converged);
  return run;
}

BenchmarkResult mxp(MPI_Comm comm, const BenchmarkOptions& options, const ProgressFunction& progress) {
  return BenchmarkRunner(comm, options).run(progress).result;
}

}  // namespace lupine
