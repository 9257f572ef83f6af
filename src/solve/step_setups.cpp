// SPDX-License-Identifier: BSD-3-Clause
// What a SteppedSolver plans: its steps, the setup of each, and what corrections are worth.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "comm/agreement.hpp"
#include "core/numbers.hpp"
#include "host/thread_scope.hpp"
#include "setup/footprint.hpp"
#include "setup/options_check.hpp"
#include "solve/sample.hpp"
#include "solve/stepped_solver.hpp"

namespace speedwell {

namespace {

// The block size by which steps are predicted before one is chosen.
constexpr std::int64_t usual_nb = 512;
constexpr double most_forward = 0.1;          // of the time of the factors: see forward_worth()
constexpr std::int64_t least_forward = 1500;  // order of A

void check_options(const Communicator& all, const SolveOptions& o) {
  agree(all, [&] { check_ranges(o); });
  require_equal_options(all, o);
}

}  // namespace

std::vector<Attempt> SteppedSolver::plan_attempts() {
  check_options(all(), options_);
  source_.source().check(all());
  if (options_.precision != Precision::automatic) return {{options_.precision, 0}};
  std::vector<Precision> compared{Precision::bf16, Precision::fp16, Precision::fp32,
                                  Precision::fp64};
  // Emulated, FP16x3 is three products of FP32, and cannot be the faster one.
  if (options_.first == Precision::fp16x3 || machine_.native(Precision::fp16x3))
    compared.push_back(Precision::fp16x3);
  rates_ = update_rates(machine_, compared, n());
  std::vector<Attempt> steps = worthwhile_attempts(draft(), rates_, options_.first);
  // An inverse by factors of 16 bits proves nothing of most matrices.
  if (accuracy_ == Accuracy::certified && options_.first == Precision::automatic)
    std::erase_if(steps, [](const Attempt& step) { return bytes_of(step.precision) == 2; });
  return steps;
}

// What is known of an LU before its step is planned.
LuPlan SteppedSolver::draft() const {
  const std::int64_t nb = options_.run.nb != 0 ? options_.run.nb : usual_nb;
  return {.n = n(),
          .nb = std::min(nb, n()),
          .grid = machine_.facts().shape(),
          .field = field(),
          .overlaps = machine_.device().overlaps()};
}

// A step in this precision.
LuRequest SteppedSolver::request(Precision precision) const {
  LuRequest of{.run = options_.run,
               .n = n(),
               .precision = precision,
               .field = field(),
               .pivoting = Pivoting::partial,
               .certified = accuracy_ == Accuracy::certified,
               .size = "n ="};
  if (precision != Precision::fp64) of.run.fp64 = Fp64Products::native;  // there are none
  return of;
}

// Drops the steps that a sample of A shows to be of no use, or that so many right-hand sides make
// dearer than the next; the last one stays, and so does a first one that the user named.
void SteppedSolver::judge_by_sample() {
  if (options_.precision != Precision::automatic) return;
  if (plan_.size() > 1)
    sampled_ = sampled_condition(grid(), machine_.device(), *a_, scaled_->scales(), seed_of_a_);
  if (options_.first != Precision::automatic) return;
  while (plan_.size() > 1 && is_hopeless(plan_.front().precision, sampled_))
    plan_.erase(plan_.begin());
  plan_ = attempts_worth_making(std::move(plan_), draft(), rates_, expected_, sampled_);
  // Ranks may remember rates of different dates.
  reason_ = text_of_rank_0(all(), rates_.text(plan_.front().precision));
  if (!std::isnan(sampled_))
    reason_ += fmt::format("; condition number of about {:.0e} by a sample of A", sampled_);
}

// An A that is distributed already is used in place, or redistributed into the blocks chosen.
LuSetup SteppedSolver::first_setup() {
  const MatrixSource& source = source_.source();
  const std::int64_t own = source.block();
  const auto rows = [&](std::int64_t nb) { return grid().rows(numbers(), parts_of(field()) * nb); };
  const auto in_place = [&](std::int64_t nb) {
    return source.in_place(grid(), rows(nb), grid().columns(n(), nb)).has_value();
  };
  const std::int64_t block = own > 0 ? own : n();
  const bool there = in_place(block);
  const bool read =
      is_read_in_place(grid(), machine_.device(), source, rows(block), grid().columns(n(), block));
  LuRequest first = request(plan_.front().precision);
  first.kept = !there                                            ? Kept::copy
               : read && !machine_.device().shares_host_memory() ? Kept::on_device
                                                                 : Kept::in_place;
  first.nb_in_place = there && all().size() > 1 ? own : 0;
  first.last = plan_.back().precision;
  LuSetup setup = plan(machine_, first);
  if (own > 0 && !in_place(setup.lu.nb))
    setup.notes.push_back(
        fmt::format("A redistributed from {} to blocks of {}", source.distribution(), setup.lu.nb));
  return setup;
}

// The most that a step needs. The first plan counts a copy of A; later ones find it in the memory.
void SteppedSolver::announce(const LuSetup& setup) {
  const LuPlan& lu = setup.lu;
  double needed = rank_bytes(lu);
  if (a_->is_copy() && lu.held == 0)
    needed += 8 * static_cast<double>(lu.parts() * lu.rows().local_size()) *
              static_cast<double>(lu.columns().local_size());
  if (memory_.needed == 0) memory_.free = setup.budget.rank_free;
  memory_.needed = std::max(memory_.needed, needed);
}

// The setup of a step without FP64 products has no word of how they are computed.
void SteppedSolver::describe_setup(Solution& solution) const {
  solution.chosen = first_.run;
  solution.chosen.fp64 = options_.run.fp64;
  solution.device = first_.machine.device;
  solution.fp64_products = first_.machine.fp64;
  solution.panel_width = first_.lu.width;
  solution.probe_seed = seed_;
}

// A later step keeps the block size of the first, because A is distributed in these blocks already.
// A rank alone has the same A in blocks of any size. Where the sample has dropped the step that
// first_ was planned for, the first one that is taken is first_.
LuSetup SteppedSolver::setup_of(Precision precision) {
  if (precision == first_.lu.precision) return first_;
  LuRequest next = request(precision);
  const bool alone = all().size() == 1;
  if (!alone) next.run.nb = first_.run.nb;
  LuSetup setup = plan(machine_, next);
  if (alone && steps_.size() == 1) first_ = setup;
  return setup;
}

int SteppedSolver::rotations() const {
  return static_cast<int>(std::ranges::count_if(steps_, &SolveStep::rotated));
}

void SteppedSolver::plan_rotated() {
  if (!last()) return;
  Attempt step = planned(at_);
  step.rotated = true;
  plan_.push_back(step);
}

void SteppedSolver::plan_rescaled() {
  steps_.back().why += fmt::format("; scales differ by 2^{}, so the next step scales columns first",
                                   scaled_->scales().spread());
  Attempt step = planned(at_);
  step.columns_first = true;
  plan_.push_back(step);
}

// Seconds that the corrections of some of the right-hand sides left are worth in the present step:
// their share of the next step's LU, whose predicted time is corrected by that of the present one.
double SteppedSolver::worth(std::int64_t right_hand_sides, std::size_t left) const {
  if (last()) return std::numeric_limits<double>::infinity();
  const double measured = steps_.back().factor_seconds;
  const double corrected = measured > 0 ? measured / planned(at_).seconds : 1;
  return planned(next()).seconds * corrected * static_cast<double>(right_hand_sides) /
         static_cast<double>(left);
}

// Seconds that x may be refined to its last digit, where that is decided by its cost: a part of the
// time of the factors. Rates of smaller systems, and of GPUs, have not been measured.
double SteppedSolver::forward_worth() const {
  const bool decides = options_.accuracy == Accuracy::automatic && options_.tolerance == 0 &&
                       options_.condition != ConditionCheck::off && n() >= least_forward &&
                       machine_.facts().gpus.empty();
  return decides ? most_forward * lu_seconds_ : 0;
}

std::string SteppedSolver::accuracy_reason() const {
  if (options_.accuracy != Accuracy::automatic || forward_seconds_ == 0) return "";
  const double part = 100 * forward_seconds_ / lu_seconds_;
  return fmt::format("forward {} {:.2g} % of the time of the LU",
                     accuracy_ == Accuracy::forward ? "took" : "would take at least", part);
}

}  // namespace speedwell
