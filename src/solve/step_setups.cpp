// SPDX-License-Identifier: BSD-3-Clause
// What a SteppedSolver plans: its steps, and the setup of each.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "setup/options_check.hpp"
#include "solve/sample.hpp"
#include "solve/stepped_solver.hpp"

namespace lupine {

namespace {

// The block size by which steps are predicted before one is chosen.
constexpr std::int64_t usual_nb = 512;

/// The benchmark, with pivoting, that needs the same memory and the same choices as a step of this
/// precision. plan() plans this benchmark for the step.
BenchmarkOptions problem(const SolveOptions& o, std::int64_t n, Precision precision) {
  RunOptions run = o.run;
  if (precision != Precision::fp64) run.fp64 = Fp64Products::native;  // there are none
  return {.run = run,
          .benchmark = precision == Precision::fp64 ? Benchmark::hpl : Benchmark::mxp,
          .n = n,
          .precision = precision,
          .pivoting = Pivoting::partial,
          .max_iterations = o.max_iterations};
}

void check_options(const Communicator& all, const SolveOptions& o) {
  agree(all, [&] { check_ranges(o); });
  require_equal_options(all, o);
}

}  // namespace

std::vector<PlannedStep> SteppedSolver::plan_steps() {
  check_options(all(), options_);
  source_.source().check(all());
  if (options_.precision != Precision::automatic) return {{options_.precision, 0}};
  std::vector<Precision> compared{Precision::bf16, Precision::fp16, Precision::fp32,
                                  Precision::fp64};
  // Emulated, FP16x3 is three products of FP32, and cannot be the faster one.
  if (options_.first == Precision::fp16x3 || machine_.native(Precision::fp16x3))
    compared.push_back(Precision::fp16x3);
  rates_ = update_rates(machine_, compared, n());
  return planned_steps(lu_problem(), rates_, options_.first);
}

LuProblem SteppedSolver::lu_problem() const {
  const std::int64_t nb = options_.run.nb != 0 ? options_.run.nb : usual_nb;
  return {n(), std::min(nb, n()), machine_.facts().shape(), machine_.device().overlaps()};
}

// Drops the steps that a sample of A shows to be of no use, or that so many right-hand sides make
// dearer than the next; the last one stays, and so does a first one that the user named.
void SteppedSolver::judge_by_sample() {
  if (options_.precision != Precision::automatic) return;
  if (plan_.size() > 1)
    sampled_ = sampled_condition(grid(), machine_.device(), *a_, scaled_->scales());
  if (options_.first != Precision::automatic) return;
  while (plan_.size() > 1 && is_hopeless(plan_.front().precision, sampled_))
    plan_.erase(plan_.begin());
  if (expected_ > Device::few_vectors)
    plan_ = steps_worth_taking(std::move(plan_), lu_problem(), rates_, expected_, sampled_);
  // Ranks may remember rates of different dates.
  reason_ = text_of_rank_0(all(), rates_.text(plan_.front().precision));
  if (!std::isnan(sampled_))
    reason_ += fmt::format("; condition number of about {:.0e} by a sample of A", sampled_);
}

// An A that is distributed already is used in place, or redistributed into the blocks chosen.
Setup SteppedSolver::first_setup() {
  const MatrixSource& source = source_.source();
  const std::int64_t own = source.block();
  const auto in_place = [&](std::int64_t nb) {
    return source.in_place(grid(), grid().rows(n(), nb), grid().columns(n(), nb)).has_value();
  };
  const std::int64_t block = own > 0 ? own : n();
  const bool there = in_place(block);
  const bool read = is_read_in_place(grid(), machine_.device(), source, grid().rows(n(), block),
                                     grid().columns(n(), block));
  const Kept kept = !there                                            ? Kept::copy
                    : read && !machine_.device().shares_host_memory() ? Kept::on_device
                                                                      : Kept::in_place;
  Setup setup = plan(machine_, problem(options_, n(), plan_.front().precision),
                     {.kept = kept,
                      .nb_in_place = there && all().size() > 1 ? own : 0,
                      .last = plan_.back().precision,
                      .size = "n ="});
  if (own > 0 && !in_place(setup.options.run.nb))
    setup.notes.push_back(fmt::format("A redistributed from {} to blocks of {}",
                                      source.distribution(), std::min(setup.options.run.nb, n())));
  return setup;
}

// The most that a step needs. The first plan counts a copy of A; later ones find it in the memory.
void SteppedSolver::announce(const Setup& setup) {
  const Footprint& f = setup.footprint;
  double needed = f.rank_bytes();
  if (a_->is_copy() && f.held == 0) {
    const Distribution rows(n(), f.nb, f.shape.nprow, 0);
    const Distribution columns(n(), f.nb, f.shape.npcol, 0);
    needed +=
        8 * static_cast<double>(rows.local_size()) * static_cast<double>(columns.local_size());
  }
  if (memory_.needed == 0) memory_.free = setup.budget.rank_free;
  memory_.needed = std::max(memory_.needed, needed);
}

// The setup of a step without FP64 products has no word of how they are computed.
void SteppedSolver::describe_setup(Solution& solution) const {
  solution.chosen = first_.options.run;
  solution.chosen.fp64 = options_.run.fp64;
  solution.device = first_.machine.device;
  solution.fp64_products = first_.machine.fp64;
  solution.panel_width = first_.panel_width;
}

// A later step keeps the block size of the first, because A is distributed in these blocks already.
// A rank alone has the same A in blocks of any size. Where the sample has dropped the step that
// first_ was planned for, the first one that is taken is first_.
Setup SteppedSolver::setup_of(Precision precision) {
  if (precision == first_.options.precision) return first_;
  SolveOptions options = options_;
  const bool alone = all().size() == 1;
  if (!alone) options.run.nb = first_.options.run.nb;
  Setup setup = plan(machine_, problem(options, n(), precision), {.size = "n ="});
  if (alone && steps_.size() == 1) first_ = setup;
  return setup;
}

}  // namespace lupine
