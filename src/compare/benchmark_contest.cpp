// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <speedwell/matrix.hpp>
#include <speedwell/solution.hpp>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <utility>

#include "bench/benchmark_runner.hpp"
#include "bench/memory_passes.hpp"
#include "comm/agreement.hpp"
#include "comm/process_grid.hpp"
#include "compare/ceilings.hpp"
#include "compare/contest.hpp"
#include "compare/lapack_run.hpp"
#include "device/device.hpp"
#include "generate/generator.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "refine/system.hpp"
#include "solve/solver.hpp"

namespace speedwell {

namespace {

constexpr double seconds_a_ceiling = 0.02;
/// Largest products that are timed, on a CPU and on a GPU: larger ones have the same rate.
constexpr std::int64_t largest_on_host = 8192;
constexpr std::int64_t largest_on_gpu = 16384;

std::string failure(const BenchmarkResult& result) {
  if (result.passed) return "";
  if (!result.factored()) return no_factors(result);
  const std::string residual = residual_failure(result.scaled_residual, result.chosen.threshold);
  return residual.empty() ? fmt::format("more than {} corrections", result.chosen.max_iterations)
                          : residual;
}

class BenchmarkContest final : public Contest {
 public:
  BenchmarkContest(const Communicator& world, const CompareOptions& who,
                   const BenchmarkOptions& mxp, const BenchmarkOptions& hpl,
                   const Profile& profile);

 private:
  /// The devices on which ceilings are measured; they are the same one without a GPU.
  struct Devices {
    Device& of_updates;
    Device& host;
  };
  /// The rate of this rank, in operations or bytes a second.
  using Measure = std::function<double(const Devices&)>;

  void enter_planned(const Machine& machine, SolverKind solver, const BenchmarkOptions& options);
  Turn benchmark_turn(const Setup& setup);
  Turn solve_benchmark(const Setup& setup);
  DenseSystem dense_system() const override;

  void add_ceiling(std::string name, std::string unit, std::string bounds, Measure measure);
  void add_product(std::string name, std::string bounds, Product product, Precision precision,
                   std::int64_t width);
  void add_update(const ComparedSolver& entry, std::int64_t width);
  void add_ceilings_of_host();
  void measure_ceilings() override;

  Profile profile_;
  Communicator alone_;  // of this rank alone
  int node_ranks_;
  std::int64_t gemm_width_ = 1;    // columns of a step, of HPL's where it takes part
  std::vector<Measure> measures_;  // one of each ceiling
};

BenchmarkContest::BenchmarkContest(const Communicator& world, const CompareOptions& who,
                                   const BenchmarkOptions& mxp, const BenchmarkOptions& hpl,
                                   const Profile& profile)
    : Contest(world, who.monitor),
      profile_(profile),
      alone_(world.split(world.rank(), 0)),
      node_ranks_(world.split_node().size()) {
  BenchmarkOptions options = mxp;
  options.precision = who.precisions.front();
  const Machine machine(world.handle(), options.run);
  run_on(machine);
  setup_ = plan(machine, options, 0, profile);
  // NOLINTNEXTLINE(cppcoreguidelines-prefer-member-initializer): it is planned above
  gemm_width_ = setup_.lu.width;
  comparison_.n = setup_.options.n;
  for (const SolverKind solver : who.solvers) {
    if (traits(solver).lapack) {
      enter_lapack(solver);
    } else if (solver == SolverKind::hpl) {
      enter_planned(machine, solver, hpl);
    } else if (solver == SolverKind::solve) {
      // speedwell::solve is planned by its first step.
      options.precision = Precision::automatic;
      options.pivoting = Pivoting::partial;
      enter_planned(machine, solver, options);
      options.pivoting = mxp.pivoting;
    } else {
      for (const Precision precision : who.precisions) {
        options.precision = precision;
        enter_planned(machine, solver, options);
      }
    }
  }
  require_solver();
  add_ceilings_of_host();
}

void BenchmarkContest::enter_planned(const Machine& machine, SolverKind solver,
                                     const BenchmarkOptions& options) {
  ComparedSolver entry{.solver = solver};
  Setup setup = setup_;
  try {
    if (solver == SolverKind::solve) {
      LuRequest first = request_of(options);
      first.profile = profile_;
      first.kept = Kept::copy;
      setup = {options, plan(machine, first)};
    } else {
      setup = plan(machine, options, 0, profile_);
    }
    entry.nb = setup.options.run.nb;
  } catch (const UsageError& error) {
    // A solver that needs more memory than the first plan may not fit.
    entry.skipped = error.what();
  }
  entry.precision = solver == SolverKind::hpl ? Precision::fp64 : setup.options.precision;
  const bool by_dgemm = solver == SolverKind::hpl && setup_.machine.gpus.empty();
  entry.ceiling = by_dgemm ? "dgemm" : fmt::format("update {}", name(entry.precision));
  if (solver == SolverKind::hpl && entry.skipped.empty()) gemm_width_ = setup.lu.width;
  if (!by_dgemm && entry.skipped.empty()) add_update(entry, setup.lu.width);
  // All solvers solve the same system.
  setup.options.matrix = setup_.options.matrix;
  enter(std::move(entry), [this, solver, setup = std::move(setup)] {
    return solver == SolverKind::solve ? solve_benchmark(setup) : benchmark_turn(setup);
  });
}

Turn BenchmarkContest::benchmark_turn(const Setup& setup) {
  const BenchmarkResult result = BenchmarkRunner(world_.handle(), setup, run_.hooks()).run().result;
  return {result.seconds, result.refine_seconds, result.scaled_residual, failure(result)};
}

// speedwell::solve() holds A in FP64. x is verified with A generated again.
Turn BenchmarkContest::solve_benchmark(const Setup& setup) {
  const BenchmarkOptions& o = setup.options;
  const ThreadScope threads(o.run.threads);
  const auto host = make_device({.kind = DeviceKind::cpu, .threads = o.run.threads});
  const Generator generator(o, world_);
  const MatrixSpec& spec = generator.spec();
  const auto b = [&](std::int64_t i, std::int64_t) { return spec.right_hand_side(i); };
  const auto a = [&](std::int64_t i, std::int64_t j) { return spec.entry(i, j); };
  Solution s;
  Turn turn = solve_turn(
      [&] {
        return solve(world_.handle(), Matrix::from_function(spec.n, a),
                     RightHandSide::from_function(1, b),
                     {.run = o.run,
                      .refine = o.refine,
                      .max_iterations = o.max_iterations,
                      .condition = ConditionCheck::off},
                     {}, {}, run_);
      },
      s);
  turn.seconds = s.seconds;
  if (!turn.passed()) return turn;
  const ProcessGrid grid(world_, setup.lu.grid);
  const Distribution rows = grid.rows(spec.n, setup.lu.nb);
  const Distribution columns = grid.columns(spec.n, setup.lu.nb);
  turn.scaled_residual = scaled_residual(
      system_norms(grid, *host, rows, columns, spec, local_part(columns, s.x)), spec.n);
  turn.failure = residual_failure(turn.scaled_residual, o.threshold);
  return turn;
}

DenseSystem BenchmarkContest::dense_system() const {
  const ThreadScope scope(threads_);
  const std::int64_t n = comparison_.n;
  const std::shared_ptr<Device> device =
      make_device({.kind = DeviceKind::cpu, .threads = threads_});
  const auto generator = std::make_shared<Generator>(setup_.options, alone_);
  const Distribution whole(n, n, 1, 0);
  DenseSystem system{.n = n, .threshold = setup_.options.threshold};
  system.fill = [=](MatrixView<double> a) {
    const auto queue = device->make_queue(Priority::normal);
    device->generate(*queue, generator->spec(), whole, whole, a);
    queue->synchronize();
  };
  system.right_hand_sides = [=] { return right_hand_side(generator->spec(), whole); };
  system.residual = [=, this](const std::vector<double>& x) {
    const ProcessGrid grid(alone_, {1, 1, GridOrder::row});
    return scaled_residual(system_norms(grid, *device, whole, whole, generator->spec(), x), n);
  };
  return system;
}

void BenchmarkContest::add_ceiling(std::string name, std::string unit, std::string bounds,
                                   Measure measure) {
  comparison_.ceilings.push_back({.name = std::move(name),
                                  .unit = std::move(unit),
                                  .bounds = std::move(bounds),
                                  .ranks = world_.size(),
                                  .threads = fewest_threads_});
  measures_.push_back(std::move(measure));
}

/// @param product gemm: on the processor
void BenchmarkContest::add_product(std::string name, std::string bounds, Product product,
                                   Precision precision, std::int64_t width) {
  const GridShape grid = setup_.lu.grid;
  const bool on_host = product == Product::gemm;
  const bool gpu = !on_host && !setup_.machine.gpus.empty();
  const std::vector<UpdateShape> shapes = update_shapes(
      comparison_.n, grid.nprow, grid.npcol, width, gpu ? largest_on_gpu : largest_on_host);
  add_ceiling(std::move(name), "GFLOP/s", std::move(bounds), [=, this](const Devices& devices) {
    return product_rate(on_host ? devices.host : devices.of_updates, product, precision, shapes,
                        seconds_a_ceiling, clock_);
  });
}

void BenchmarkContest::add_update(const ComparedSolver& entry, std::int64_t width) {
  const auto known = std::ranges::find(comparison_.ceilings, entry.ceiling, &Ceiling::name);
  if (known == comparison_.ceilings.end())
    add_product(entry.ceiling, title(entry), Product::update, entry.precision, width);
  else
    known->bounds += ", " + title(entry);
}

void BenchmarkContest::add_ceilings_of_host() {
  add_product("dgemm", setup_.machine.gpus.empty() ? "hpl, dgesv, dgesvx" : "dgesv, dgesvx",
              Product::gemm, Precision::fp64, gemm_width_);
  add_product("sgemm", "dsgesv", Product::gemm, Precision::fp32, setup_.lu.width);
  const std::int64_t bytes = agreed(world_, [&] { return memory_pass_bytes(node_ranks_); });
  for (const auto& [name, pass, bounds] :
       {std::tuple("memory read", MemoryPass::read, "solves with the factors"),
        std::tuple("memory triad", MemoryPass::triad, "exchanges of rows, and roundings")})
    add_ceiling(name, "GB/s", bounds, [this, bytes, pass = pass](const Devices&) {
      return memory_rate(pass, bytes, threads_, seconds_a_ceiling, clock_);
    });
}

void BenchmarkContest::measure_ceilings() {
  const Machine machine(world_.handle(), setup_.asked.run);
  std::unique_ptr<Device> other;
  if (!setup_.machine.gpus.empty())
    agree(world_, [&] { other = make_device({.kind = DeviceKind::cpu, .threads = threads_}); });
  const Devices devices{machine.device(), other ? *other : machine.device()};
  for (std::size_t i = 0; i < measures_.size(); ++i) {
    Ceiling& ceiling = comparison_.ceilings[i];
    world_.barrier();
    try {
      const double mine = agreed(world_, [&] { return measures_[i](devices); });
      ceiling.rates.push_back(world_.all_reduce(mine, Reduction::sum) / 1e9);
    } catch (const AgreedFault& fault) {
      ceiling.failure = fault.what();
    }
  }
}

}  // namespace

std::unique_ptr<Contest> benchmark_contest(const Communicator& world, const CompareOptions& who,
                                           const BenchmarkOptions& mxp, const BenchmarkOptions& hpl,
                                           const Profile& profile) {
  return std::make_unique<BenchmarkContest>(world, who, mxp, hpl, profile);
}

}  // namespace speedwell
