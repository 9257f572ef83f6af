// SPDX-License-Identifier: BSD-3-Clause
#include "compare/benchmark_contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bench/benchmark_runner.hpp"
#include "bench/host_ceilings.hpp"
#include "comm/agreement.hpp"
#include "compare/lapack_run.hpp"
#include "compare/solve_run.hpp"

namespace speedwell {

namespace {

constexpr const char* gflops = "GFLOP/s";
constexpr double seconds_a_ceiling = 0.02;
/// Largest products that are timed, on a CPU and on a GPU: larger ones have the same rate.
constexpr std::int64_t largest_on_host = 8192;
constexpr std::int64_t largest_on_gpu = 16384;

std::string update_name(Precision precision) {
  return fmt::format("update {}", name(precision));
}

std::string failure(const BenchmarkResult& result) {
  if (result.passed) return "";
  if (!result.factored()) return no_factors(result);
  const std::string residual = residual_failure(result.scaled_residual, result.chosen.threshold);
  return residual.empty() ? fmt::format("more than {} corrections", result.chosen.max_iterations)
                          : residual;
}

}  // namespace

/// The devices on which ceilings are measured.
struct BenchmarkContest::Devices {
  const Machine& machine;                ///< its device computes the updates
  std::unique_ptr<Device> other_host{};  ///< a CPU device, if the machine's device is a GPU
  Device& host() const { return other_host ? *other_host : machine.device(); }
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
  threads_ = machine.threads();
  setup_ = plan(machine, options, 0, profile);
  comparison_.n = setup_.options.n;
  for (const SolverKind solver : who.solvers) {
    if (lapack_driver(solver)) {
      enter_lapack(solver);
      setups_.emplace_back();
    } else if (solver == SolverKind::hpl) {
      enter(machine, solver, hpl);
    } else if (solver == SolverKind::solve) {
      // speedwell::solve is planned by its first step.
      options.precision = Precision::automatic;
      options.pivoting = Pivoting::partial;
      enter(machine, solver, options);
      options.pivoting = mxp.pivoting;
    } else {
      for (const Precision precision : who.precisions) {
        options.precision = precision;
        enter(machine, solver, options);
      }
    }
  }
  require_solver();
  add_registers();
  add_products();
  add_memory();
}

void BenchmarkContest::enter(const Machine& machine, SolverKind solver,
                             const BenchmarkOptions& options) {
  ComparedSolver entry;
  entry.solver = solver;
  entry.ranks = world_.size();
  entry.threads = setup_.options.run.threads;
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
  } catch (const UsageError& error) {
    // A solver that needs more memory than the first plan may not fit.
    entry.skipped = error.what();
  }
  entry.precision = solver == SolverKind::hpl ? Precision::fp64 : setup.options.precision;
  entry.nb = entry.skipped.empty() ? setup.options.run.nb : 0;
  entry.ceiling = solver == SolverKind::hpl && setup_.machine.gpus.empty()
                      ? "dgemm"
                      : update_name(entry.precision);
  // All solvers solve the same system.
  setup.options.matrix = setup_.options.matrix;
  comparison_.solvers.push_back(std::move(entry));
  setups_.push_back(std::move(setup));
}

void BenchmarkContest::add_ceiling(Ceiling ceiling, Measure measure) {
  ceiling.ranks = world_.size();
  ceiling.threads = setup_.options.run.threads;
  comparison_.ceilings.push_back(std::move(ceiling));
  measures_.push_back(std::move(measure));
}

void BenchmarkContest::add_product(std::string name, std::string bounds, Product product,
                                   Precision precision, std::int64_t width, bool on_host) {
  const GridShape grid = setup_.lu.grid;
  const bool gpu = !on_host && !setup_.machine.gpus.empty();
  const std::vector<UpdateShape> shapes = update_shapes(
      comparison_.n, grid.nprow, grid.npcol, width, gpu ? largest_on_gpu : largest_on_host);
  add_ceiling({.name = std::move(name), .unit = gflops, .bounds = std::move(bounds)},
              [=, this](Devices& devices) {
                return product_rate(on_host ? devices.host() : devices.machine.device(), product,
                                    precision, shapes, seconds_a_ceiling, clock_);
              });
}

void BenchmarkContest::add_registers() {
  const int threads = threads_;
  const auto registers = [&](Precision precision, const char* bounds) {
    add_ceiling({.name = fmt::format("registers {}", speedwell::name(precision)),
                 .unit = gflops,
                 .bounds = bounds},
                [=, this](Devices&) {
                  return ProductRate{register_rate(precision, threads, seconds_a_ceiling, clock_)};
                });
  };
  registers(Precision::fp64, "dgemm");
  registers(Precision::fp32, "sgemm, and updates in FP32");
  registers(Precision::bf16, "updates by vdpbf16ps");
}

void BenchmarkContest::add_products() {
  const bool gpu = !setup_.machine.gpus.empty();
  std::int64_t hpl_width = setup_.lu.width;
  for (std::size_t i = 0; i < setups_.size(); ++i) {
    const ComparedSolver& one = comparison_.solvers[i];
    if (one.solver == SolverKind::hpl && one.skipped.empty()) hpl_width = setups_[i].lu.width;
  }
  add_product("dgemm", gpu ? "dgesv, dgesvx" : "hpl, dgesv, dgesvx", Product::gemm, Precision::fp64,
              hpl_width, true);
  add_product("sgemm", "dsgesv", Product::gemm, Precision::fp32, setup_.lu.width, true);
  for (std::size_t i = 0; i < setups_.size(); ++i) {
    const ComparedSolver& one = comparison_.solvers[i];
    if (lapack_driver(one.solver) || one.ceiling == "dgemm" || !one.skipped.empty()) continue;
    auto& ceilings = comparison_.ceilings;
    const auto known = std::find_if(ceilings.begin(), ceilings.end(),
                                    [&](const Ceiling& c) { return c.name == one.ceiling; });
    if (known != ceilings.end())
      known->bounds += ", " + title(one);
    else
      add_product(one.ceiling, title(one), Product::update, one.precision, setups_[i].lu.width,
                  false);
  }
}

void BenchmarkContest::add_memory() {
  const int threads = threads_;
  const std::int64_t bytes = agreed(world_, [&] { return memory_pass_bytes(node_ranks_); });
  const auto memory = [&](const char* name, MemoryPass pass, const char* bounds) {
    add_ceiling({.name = name, .unit = "GB/s", .bounds = bounds}, [=, this](Devices&) {
      return ProductRate{memory_rate(pass, bytes, threads, seconds_a_ceiling, clock_)};
    });
  };
  memory("memory read", MemoryPass::read, "solves with the factors");
  memory("memory triad", MemoryPass::triad, "exchanges of rows, and roundings");
}

Turn BenchmarkContest::lapack_turn(LapackDriver driver) {
  return lapack_run(driver, alone_, setup_.options, threads_, run_);
}

Turn BenchmarkContest::speedwell_turn(std::size_t entry) {
  const Setup& setup = setups_[entry];
  if (comparison_.solvers[entry].solver == SolverKind::solve) return solve_run(world_, setup, run_);
  const BenchmarkResult result = BenchmarkRunner(world_.handle(), setup, run_.hooks()).run().result;
  return {result.seconds, result.refine_seconds, result.scaled_residual, failure(result)};
}

void BenchmarkContest::measure(Ceiling& ceiling, const Measure& measure, Devices& devices) const {
  world_.barrier();
  ProductRate mine;
  try {
    mine = agreed(world_, [&] { return measure(devices); });
  } catch (const AgreedFault& fault) {
    ceiling.failure = fault.what();
    return;
  }
  const double rate = world_.all_reduce(mine.run, Reduction::sum) / 1e9;
  const double best = world_.all_reduce(mine.best, Reduction::sum) / 1e9;
  if (rate > 0) ceiling.rates.push_back(rate);
  if (best <= ceiling.best_shape_rate) return;
  ceiling.best_shape_rate = best;
  ceiling.best_shape = mine.best_shape;
}

void BenchmarkContest::measure_ceilings() {
  const Machine machine(world_.handle(), setup_.asked.run);
  Devices devices{machine};
  if (!setup_.machine.gpus.empty())
    agree(world_, [&] {
      devices.other_host = make_device({.kind = DeviceKind::cpu, .threads = threads_});
    });
  for (std::size_t i = 0; i < measures_.size(); ++i)
    measure(comparison_.ceilings[i], measures_[i], devices);
}

}  // namespace speedwell
