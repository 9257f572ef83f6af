// SPDX-License-Identifier: BSD-3-Clause
#include <fmt/format.h>
#include <speedwell/matrix.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "comm/agreement.hpp"
#include "compare/contest.hpp"
#include "compare/known_system.hpp"
#include "compare/lapack_run.hpp"
#include "compare/range_counts.hpp"
#include "host/thread_scope.hpp"
#include "refine/refinement.hpp"
#include "setup/footprint.hpp"
#include "setup/machine.hpp"
#include "solve/factored_system.hpp"
#include "solve/factors.hpp"
#include "solve/scaled_matrix.hpp"
#include "solve/user_matrix.hpp"

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

class LevelContest final : public Contest {
 public:
  LevelContest(const Communicator& world, const CompareOptions& who,
               const BenchmarkOptions& options, const Profile& profile);

 private:
  void enter_level(Level level, Precision precision, const Profile& profile);
  Turn take_turn(const LevelTraits& level, const LuPlan& lu);
  /// Makes A, x and b in blocks of this size, unless they are there.
  void load(std::int64_t nb);
  /// y of (R A C) y = R b, refined.
  RefineOutcome refined(FactoredSystem& factored, const Vector& scaled_b) const;
  /// max |x_i - x*_i| for x = C y. Collective.
  double error_of(const Scales& scales, const Vector& y) const;

  BenchmarkOptions options_;
  KnownSystem system_;
  Machine machine_;
  std::unique_ptr<UserMatrix> a_;  // from the first round on
  std::int64_t nb_ = 0;            // of a_
  Vector b_;                       // along rows, in the blocks of a_
  Vector x_;                       // along columns
};

LevelContest::LevelContest(const Communicator& world, const CompareOptions& who,
                           const BenchmarkOptions& options, const Profile& profile)
    : Contest(world, who.monitor),
      options_(options),
      system_(who.gallery.value(), options.n, options.seed),
      machine_(world.handle(), options.run, std::make_unique<SteadyClock>(), run_.hooks()) {
  comparison_.n = options.n;
  comparison_.gallery = who.gallery.value();
  run_on(machine_);
  options_.pivoting = Pivoting::partial;
  enter_level(Level::fp64, Precision::fp64, profile);
  enter_level(Level::o0, Precision::fp32, profile);
  for (const Precision precision : who.precisions)
    if (bytes_of(precision) == 2)
      for (const Level level : {Level::o1, Level::o2, Level::o3})
        enter_level(level, precision, profile);
  require_solver();
}

void LevelContest::enter_level(Level level, Precision precision, const Profile& profile) {
  ComparedSolver entry{.solver = SolverKind::solve, .level = level, .precision = precision};
  BenchmarkOptions own = options_;
  own.precision = precision;
  LuRequest request = request_of(own);
  request.profile = profile;
  request.kept = Kept::copy;
  request.narrow = traits(level).narrow;
  LuPlan lu;
  try {
    const LuSetup setup = plan(machine_, request);
    lu = setup.lu;
    if (setup_.machine.hosts.empty()) setup_ = {own, setup};
    entry.nb = lu.nb;
    LuPlan alone = lu;
    alone.held = 0;
    entry.lu_bytes = rank_bytes(alone);
  } catch (const UsageError& error) {
    entry.skipped = error.what();
  }
  enter(std::move(entry), [this, level, lu] { return take_turn(traits(level), lu); });
}

void LevelContest::load(std::int64_t nb) {
  if (a_ && nb_ == nb) return;
  a_.reset();  // before there is another one
  const auto element = [this](std::int64_t i, std::int64_t j) { return system_(i, j); };
  const Matrix matrix = Matrix::from_function(system_.n(), element);
  a_ = std::make_unique<UserMatrix>(machine_.grid(), machine_.device(), matrix.source(), nb);
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
  return machine_.all().all_reduce(largest_error(scaled(y, scales.columns), x_), Reduction::max);
}

// What is only measured, the first solve and the counts, comes after the clock has stopped.
Turn LevelContest::take_turn(const LevelTraits& level, const LuPlan& lu) {
  const ThreadScope threads(machine_.threads());
  const Communicator& all = machine_.all();
  const RunContext& run = machine_.run();
  load(lu.nb);
  Turn turn;
  turn.x_is_known = true;
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
  turn.matrix = range_counts(all, machine_.device(), *a, lu.storage());
  if (!usable) {
    turn.failure = why_no_factors(factors->outcome());
    return turn;
  }
  turn.corrections = outcome.iterations;
  turn.error = error_of(scales, outcome.x);
  turn.first_error = level.refined
                         ? error_of(scales, factors->factored(Transpose::no).solver().solve(b))
                         : turn.error;
  turn.factors = range_counts(all, machine_.device(), factors->lu());
  return turn;
}

}  // namespace

std::unique_ptr<Contest> level_contest(const Communicator& world, const CompareOptions& who,
                                       const BenchmarkOptions& options, const Profile& profile) {
  return std::make_unique<LevelContest>(world, who, options, profile);
}

}  // namespace speedwell
