// SPDX-License-Identifier: BSD-3-Clause
#include "compare/level_contest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <utility>

#include "comm/agreement.hpp"
#include "compare/range_counts.hpp"
#include "host/thread_scope.hpp"
#include "setup/footprint.hpp"
#include "solve/factors.hpp"
#include "solve/scaled_matrix.hpp"

namespace speedwell {

namespace {

/// v_i s_i, where no scales stand for ones.
Vector scaled(Vector v, const Vector& scales) {
  if (!scales.empty()) std::ranges::transform(v, scales, v.begin(), std::multiplies());
  return v;
}

/// What R A C is raised by where it is stored in FP16: entries below 1 would use half of its range.
/// There is room for growth by 1000.
constexpr int fp16_raise = 6;

std::string why_no_factors(const FactorOutcome& outcome) {
  return outcome.nonfinite ? "no factors: a panel has an Inf or NaN"
                           : fmt::format("no factors: pivot {} (from 0) is zero or not finite",
                                         outcome.bad_pivot);
}

}  // namespace

LevelContest::LevelContest(const Communicator& world, const CompareOptions& who,
                           const BenchmarkOptions& options, const Profile& profile)
    : Contest(world, who.monitor),
      options_(options),
      system_(who.gallery.value(), options.n, options.seed),
      machine_(world.handle(), options.run, std::make_unique<SteadyClock>(), run_.hooks()) {
  comparison_.n = options.n;
  comparison_.gallery = who.gallery.value();
  threads_ = machine_.threads();
  options_.pivoting = Pivoting::partial;
  enter(Level::fp64, Precision::fp64, profile);
  enter(Level::o0, Precision::fp32, profile);
  for (const Precision precision : who.precisions)
    if (bytes_of(precision) == 2)
      for (const Level level : {Level::o1, Level::o2, Level::o3}) enter(level, precision, profile);
  require_solver();
}

void LevelContest::enter(Level level, Precision precision, const Profile& profile) {
  ComparedSolver entry;
  entry.solver = SolverKind::solve;
  entry.level = level;
  entry.precision = precision;
  entry.ranks = world_.size();
  entry.threads = machine_.facts().run.threads;
  BenchmarkOptions own = options_;
  own.precision = precision;
  LuRequest request = request_of(own);
  request.profile = profile;
  request.kept = Kept::copy;
  request.narrow = traits(level).narrow;
  try {
    setups_.push_back(plan(machine_, request));
    LuPlan alone = setups_.back().lu;
    entry.nb = alone.nb;
    alone.held = 0;
    entry.lu_bytes = rank_bytes(alone);
  } catch (const UsageError& error) {
    entry.skipped = error.what();
    setups_.emplace_back();
  }
  if (setup_.machine.hosts.empty() && entry.skipped.empty()) setup_ = {own, setups_.back()};
  comparison_.solvers.push_back(std::move(entry));
}

void LevelContest::load(std::int64_t nb) {
  if (a_ && nb_ == nb) return;
  a_.reset();  // before there is another one
  a_ = std::make_unique<UserMatrix>(machine_.grid(), machine_.device(), system_, nb);
  nb_ = nb;
  const Distribution& columns = a_->columns();
  x_.resize(static_cast<std::size_t>(columns.local_size()));
  for (std::size_t j = 0; j < x_.size(); ++j)
    x_[j] = system_.x(columns.global(LocalIndex{static_cast<std::int64_t>(j)}).value);
  b_ = a_->system(machine_.grid(), machine_.device(), Transpose::no).multiply(x_);
}

RefineOutcome LevelContest::refined(FactoredSystem& factored, const Vector& scaled_b) const {
  return refine(factored.system(), factored.solver(), MultiVector(scaled_b),
                {.method = options_.refine,
                 .max_iterations = options_.max_iterations,
                 .stop = StopRule::componentwise})
      .front();
}

double LevelContest::error_of(const Scales& scales, const Vector& y) const {
  const Vector x = scaled(y, scales.columns);
  double most = 0;  // max |x*_i| is 1
  for (std::size_t j = 0; j < x.size(); ++j) {
    const double error = std::fabs(x[j] - x_[j]);
    if (!(error <= most)) most = std::isnan(error) ? HUGE_VAL : error;
  }
  return machine_.all().all_reduce(most, Reduction::max);
}

// What is only measured, the first solve and the counts, comes after the clock has stopped.
Turn LevelContest::speedwell_turn(std::size_t entry) {
  const LevelTraits& level = traits(*comparison_.solvers[entry].level);
  const LuPlan& lu = setups_[entry].lu;
  const ThreadScope threads(machine_.threads());
  const Communicator& all = machine_.all();
  const RunContext& run = machine_.run();
  load(lu.nb);
  Turn turn;
  LevelResult& result = turn.level.emplace();
  std::optional<ScaledMatrix> a;
  std::optional<Factors> factors;
  RefineOutcome outcome;
  Scales scales;
  Vector b;
  all.barrier();
  const double begin = run.now();
  run.stage(Activity::factorization, [&] {
    a.emplace(machine_.grid(), machine_.device(), *a_,
              level.scaled ? Scaling::rows_first : Scaling::off, nullptr,
              level.scaled && lu.storage() == Precision::fp16 ? fp16_raise : 0);
    factors.emplace(machine_.transport(), *a, lu, 0, options_.seed, ColumnsDone{});  // none is used
    scales = a->scales().local(a_->rows(), a_->columns());
    b = scaled(b_, scales.rows);
  });
  const double factored = run.now();
  const bool usable = factors->outcome().usable();
  if (usable)
    run.stage(Activity::refinement, [&] {
      FactoredSystem& system = factors->factored(Transpose::no);
      if (level.refined)
        outcome = refined(system, b);
      else
        outcome.x = system.solver().solve(b);
    });
  std::array seconds{run.now() - begin, run.now() - factored};
  all.all_reduce(seconds, Reduction::max);
  turn.seconds = seconds[0];
  turn.refine_seconds = seconds[1];
  result.matrix = range_counts(all, machine_.device(), *a, lu.storage());
  if (!usable) {
    turn.failure = why_no_factors(factors->outcome());
    return turn;
  }
  result.corrections = outcome.iterations;
  result.error = error_of(scales, outcome.x);
  result.first_error = level.refined
                           ? error_of(scales, factors->factored(Transpose::no).solver().solve(b))
                           : result.error;
  result.factors = range_counts(all, machine_.device(), factors->lu(), lu);
  return turn;
}

}  // namespace speedwell
