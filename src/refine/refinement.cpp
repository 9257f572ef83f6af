// SPDX-License-Identifier: BSD-3-Clause
#include "refine/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "refine/approximations.hpp"
#include "refine/forecast.hpp"
#include "refine/gmres.hpp"

namespace speedwell {

namespace {

class Refinement {
 public:
  Refinement(System& system, FactorSolver& solver, const MultiVector& b,
             const RefineOptions& options)
      : options_(options),
        tolerance_(options.stop == StopRule::benchmark
                       ? 1
                       : componentwise_tolerance(options.tolerance, system.n())),
        goes_on_(options.stop == StopRule::componentwise && options.tolerance == 0 &&
                 b.count() <= Device::few_vectors),
        forward_(options.forward &&
                 (b.count() <= Device::few_vectors || options.method == RefineMethod::gmres)),
        system_(system),
        solver_(solver),
        space_(system.x_space()),
        b_(b),
        columns_(static_cast<std::size_t>(b.count())),
        forecast_(system.grid().all(), options.worth, tolerance_) {}

  std::vector<RefineOutcome> run() {
    begin();
    if (options_.corrections > 0) {
      classic_as_asked();
    } else {
      if (options_.method != RefineMethod::gmres) classic();
      if (options_.forward_worth > 0) forward_while_worth();
      if (options_.forward && !forward_) forward_of_many();
      if (options_.method != RefineMethod::ir) gmres();
      measure();
    }
    std::vector<RefineOutcome> outcomes;
    for (Column& column : columns_) {
      column.outcome.times = forecast_.times;
      column.outcome.forward = forward_;
      if (column.norm.done()) column.outcome.norm_error = column.norm.rest;
      if (column.entries.done()) column.outcome.entry_error = column.entries.rest;
      outcomes.push_back(std::move(column.outcome));
    }
    return outcomes;
  }

 private:
  using Column = RefinedColumn;

  bool componentwise() const { return options_.stop == StopRule::componentwise; }
  Column& column(std::int64_t k) { return columns_[static_cast<std::size_t>(k)]; }
  bool done(const Column& c) const {
    return c.outcome.converged || left(c) <= 0 || c.outcome.forecast > 0;
  }
  // Whether x is good enough, and further corrections make it, or the bound of its error, more
  // accurate. Where some entries tell no rate, because they are much smaller than others or zero,
  // the norm alone decides.
  bool sharpens(const Column& c) const {
    if (!forward_ || !c.outcome.converged || left(c) <= 0 || !c.finite()) return false;
    const bool by_norm = !(c.norm.done() && c.bounded) && c.norm.shrinks;
    const bool by_entries =
        !options_.condition && !c.entries.done() && c.entries.settled() && c.entries.shrinks;
    return (by_norm || by_entries) && c.outcome.forecast == 0;
  }
  int left(const Column& c) const { return options_.max_iterations - c.outcome.iterations; }

  // x = 0 for every right-hand side. One with an Inf or NaN is done: its error is infinite.
  void begin() {
    const Vector sizes = system_.b_space().largest(b_);
    for (std::int64_t k = 0; k < b_.count(); ++k) {
      Column& c = column(k);
      const double first = componentwise() ? 1 : 1 / (eps * static_cast<double>(system_.n()));
      c.error = c.outcome.error = std::isfinite(sizes[static_cast<std::size_t>(k)])
                                      ? first
                                      : std::numeric_limits<double>::infinity();
      c.outcome.x.assign(static_cast<std::size_t>(system_.x_part().local_size()), 0.0);
      if (forward_) c.outcome.low = c.outcome.x;
      c.residual = sizes[static_cast<std::size_t>(k)];
    }
  }

  // These right-hand sides with x = 0.
  Block block_of(std::vector<std::int64_t> numbers) const {
    return {b_, system_.x_part().local_size(), std::move(numbers), forward_};
  }
  // The numbers of the right-hand sides for which which(column) is true.
  template <class Which>
  std::vector<std::int64_t> numbers_of(const Which& which) const {
    std::vector<std::int64_t> numbers;
    for (std::size_t k = 0; k < columns_.size(); ++k)
      if (std::invoke(which, columns_[k])) numbers.push_back(static_cast<std::int64_t>(k));
    return numbers;
  }
  Block block_of_all() const {
    return block_of(numbers_of([](const Column&) { return true; }));
  }

  // Calls stays(column) for each right-hand side of the block, and keeps those that stay.
  template <class Stays>
  void keep_if(Block& block, const Stays& stays) {
    std::vector<std::int64_t> places;
    for (std::int64_t i = 0; i < block.count(); ++i) {
      Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      if (stays(c))
        places.push_back(i);
      else
        c.leave(block, i);
    }
    block.keep(places);
  }

  // Classical refinement: L U d = r,  x <- x + d,  r <- b - A x.
  void classic() {
    Block block = block_of(numbers_of(&Column::finite));
    correct_classically(block);
  }

  // Until every x of the block is good enough or has become so slowly better that it leaves.
  void correct_classically(Block& block) {
    const auto stays = [&](Column& c) {
      const bool gains = goes_on_ && c.slow.times == 0 && left(c) > 0 && c.error > eps;
      if (options_.forward && !forward_ && is_found(c.error)) return false;
      return sharpens(c) || ((!done(c) || gains) && c.slow.times < 2 && c.finite());
    };
    keep_if(block, stays);
    while (block.count() > 0) {
      Vector before;
      for (const std::int64_t k : block.numbers) before.push_back(column(k).error);
      correct(block, solve(block, block.residual()));
      const double worthwhile = forecast_.worthwhile_steps();
      std::size_t place = 0;
      keep_if(block, [&](Column& c) {
        const double ratio = c.error / before[place++];
        if (c.outcome.iterations >= 2 && !c.outcome.converged) {
          const double steps = forecast_.steps_needed(ratio, c.error);
          if (steps > worthwhile) {
            if (options_.method == RefineMethod::ir) c.outcome.forecast = steps;
            return false;
          }
        }
        if (sharpens(c) && c.norm.shrinks && c.norm.settled()) {
          const double steps = c.norm.needed();
          if (steps > worthwhile) c.outcome.forecast = steps;
        }
        return stays(c);
      });
    }
  }

  // Goes on with each x that `ir` has found, to its last digit, while that is worth its time: at
  // least two corrections, which tell the rate, and the residual before them. A residual in twice
  // FP64's precision takes no less time than the others; the first one tells how much it takes.
  void forward_while_worth() {
    const auto fits = [&](const Column& c) { return c.outcome.converged && left(c) > 0; };
    if (b_.count() > Device::few_vectors || forecast_.solves == 0 ||
        !std::ranges::all_of(columns_, fits))
      return;
    const double begin = forecast_.seconds();
    const double solve_time = forecast_.slowest(forecast_.times.solves) / forecast_.solves;
    const auto is_worth = [&](double residual_time) {
      forecast_.times.forward = 2 * solve_time + 3 * residual_time;
      return forecast_.times.forward <= options_.forward_worth;
    };
    if (!is_worth(forecast_.slowest(forecast_.times.residuals) / forecast_.solves)) return;
    begin_forward();
    Block block = block_of_all();
    begin_again(block);
    const double first = forecast_.seconds() - begin;
    if (!is_worth(first)) {
      forward_ = false;
      for (Column& c : columns_) c.outcome.low.clear();
      return;
    }
    const double most = options_.forward_worth / (solve_time + first);
    for (int steps = 1; block.count() > 0; ++steps) {
      correct(block, solve(block, block.residual()));
      keep_if(block, [&](const Column& c) {
        return sharpens(c) && (steps < 2 || steps + std::max(c.norm.needed(), 1.) <= most);
      });
    }
    forecast_.times.forward = forecast_.seconds() - begin;
  }

  // Goes on with each x that FP64 residuals have found, or can say no more of. Of many right-hand
  // sides they are products of matrices, and one in twice FP64's precision takes much longer.
  void forward_of_many() {
    begin_forward();
    std::vector<std::int64_t> found =
        numbers_of([&](const Column& c) { return is_found(c.outcome.error); });
    if (found.empty()) return;
    Block block = block_of(std::move(found));
    begin_again(block);
    for (const std::int64_t k : block.numbers)  // that x is the first correction of 0
      for (Corrections* corrections : {&column(k).norm, &column(k).entries}) corrections->add(1, 0);
    correct_classically(block);
  }

  // Whether FP64 residuals, which are off by n eps (|A| |x| + |b|), can say no more of an x.
  bool is_found(double error) const {
    return error < tolerance_ || error <= eps * static_cast<double>(system_.n());
  }

  void begin_forward() {
    forward_ = true;
    for (Column& c : columns_) c.outcome.low.assign(c.outcome.x.size(), 0.0);
  }

  // As many corrections as the caller wants.
  void classic_as_asked() {
    Block block = block_of_all();
    for (int i = 0; i < options_.corrections; ++i) correct(block, solve(block, block.r));
    for (Column& c : columns_) c.outcome.converged = true;
  }

  // GMRES on (L U)^-1 A d = (L U)^-1 r, preconditioned from the left; then x <- x + d and
  // r <- b - A x. The error of x decides when to stop, not the residual of GMRES. Each right-hand
  // side has a basis of its own; products and solves are those of all right-hand sides together.
  void gmres() {
    const std::vector<std::int64_t> rest =
        numbers_of([&](const Column& c) { return !done(c) && std::isfinite(c.outcome.error); });
    const int restart = gmres_restart(system_.n(), system_.grid().shape());
    const std::int64_t most = gmres_vectors(system_.n(), system_.grid().shape());
    for (std::size_t i = 0; i < rest.size(); i += static_cast<std::size_t>(most)) {
      const auto begin = rest.begin() + static_cast<std::ptrdiff_t>(i);
      const auto count = std::min(most, std::ssize(rest) - static_cast<std::ptrdiff_t>(i));
      gmres_together({begin, begin + count}, restart);
    }
  }

  // The best x as the approximation of a block.
  void put(const RefineOutcome& outcome, Block& block, std::int64_t place) const {
    std::ranges::copy(outcome.x, block.x[place].begin());
    if (forward_) std::ranges::copy(outcome.low, block.low[place].begin());
  }

  // Begins with the best x: classical refinement may have diverged.
  void begin_again(Block& block) {
    for (std::int64_t i = 0; i < block.count(); ++i) {
      Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      put(c.outcome, block, i);
      c.slow = {};
    }
    if (column(block.numbers.front()).outcome.history.empty()) return;
    residuals(block);
    const Vector sizes = system_.b_space().largest(block.residual());
    for (std::int64_t i = 0; i < block.count(); ++i) {
      Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      c.residual = sizes[static_cast<std::size_t>(i)];
      c.norm = c.entries = {};
    }
  }

  void gmres_together(std::vector<std::int64_t> numbers, int restart) {
    Block block = block_of(std::move(numbers));
    for (const std::int64_t k : block.numbers) column(k).outcome.method = RefineMethod::gmres;
    begin_again(block);
    while (block.count() > 0) {
      const std::vector<GmresCycle> cycles = run_cycles(block, restart);
      MultiVector d(block.x.size(), block.count());
      for (std::int64_t i = 0; i < block.count(); ++i)
        std::ranges::copy(cycles[static_cast<std::size_t>(i)].correction(), d[i].begin());
      correct(block, d);
      std::size_t place = 0;
      keep_if(block, [&](Column& c) {
        const GmresCycle& cycle = cycles[place++];
        // A full cycle that has gained too little ends the attempt.
        const bool in_vain = c.slow.times > 0 && cycle.steps() == restart;
        return sharpens(c) || (!in_vain && !done(c) && c.slow.times < 2 && c.finite());
      });
    }
  }

  // One cycle for each right-hand side of the block.
  std::vector<GmresCycle> run_cycles(Block& block, int restart) {
    const MultiVector z = solve(block, block.residual());
    std::vector<GmresCycle> cycles;
    for (std::int64_t i = 0; i < block.count(); ++i) {
      const Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      const double tolerance = std::clamp(0.1 * tolerance_ / c.error, 1e-14, 1e-3);
      cycles.emplace_back(space_, z.vector(i), std::min(restart, std::max(left(c), 0)), tolerance);
    }
    const auto running = [&] {
      std::vector<std::int64_t> places;
      for (std::int64_t i = 0; i < block.count(); ++i)
        if (cycles[static_cast<std::size_t>(i)].runs()) places.push_back(i);
      return places;
    };
    for (auto places = running(); !places.empty(); places = running()) {
      MultiVector v(block.x.size(), std::ssize(places));
      Block part;  // names the right-hand sides whose solves are counted
      for (std::int64_t i = 0; i < v.count(); ++i) {
        const std::int64_t place = places[static_cast<std::size_t>(i)];
        std::ranges::copy(cycles[static_cast<std::size_t>(place)].next(), v[i].begin());
        part.numbers.push_back(block.numbers[static_cast<std::size_t>(place)]);
      }
      const MultiVector w = solve(part, multiply(v));
      const double worthwhile = forecast_.worthwhile_steps();
      for (std::int64_t i = 0; i < v.count(); ++i) {
        GmresCycle& cycle = cycles[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])];
        cycle.take(w.vector(i));
        Column& c = column(part.numbers[static_cast<std::size_t>(i)]);
        const double steps = forecast_.steps_of_cycle(cycle.residuals(), worthwhile, c.error);
        if (steps > worthwhile) {
          c.outcome.forecast = steps;
          cycle.stop();
        }
      }
    }
    return cycles;
  }

  // x <- x + d,  r <- b - A x, and the errors of x; keeps the best x.
  void correct(Block& block, const MultiVector& d) {
    block.add(d);
    const CorrectionSizes sizes = forward_ ? correction_sizes(system_, block.x, d, options_.weights)
                                           : CorrectionSizes{.norms = space_.largest(d)};
    for (std::size_t i = 0; i < sizes.norms.size(); ++i) block.moved[i] += sizes.norms[i];
    if (is_small(block, sizes))
      update(block, d, sizes);
    else
      residuals(block);
    if (forward_) judge(block, sizes);
    for (std::int64_t i = 0; i < block.count(); ++i) {
      Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      c.outcome.history.push_back(c.error);
      c.slow.add(c.error);
      const bool better = is_better(c);
      // What FP64 residuals have measured of a best x has no b - A (x + low).
      if (better || forward_) c.measured = false;
      if (better) {
        c.outcome.error = c.error;
        std::ranges::copy(block.x[i], c.outcome.x.begin());
        if (forward_) std::ranges::copy(block.low[i], c.outcome.low.begin());
      }
      c.outcome.converged = c.outcome.error < tolerance_;
    }
  }

  // Whether r - A d in FP64 will do for b - A (x + low), since d is so small that its roundings,
  // n eps |A| |d|, change x by eps at most.
  bool is_small(const Block& block, const CorrectionSizes& sizes) const {
    if (!options_.condition || block.count() <= Device::few_vectors || block.extended.count() == 0)
      return false;
    const double allowed = 1 / (static_cast<double>(system_.n()) * options_.condition());
    for (std::size_t i = 0; i < sizes.norms.size(); ++i)
      if (!(sizes.norms[i] <= allowed * sizes.x[i])) return false;
    return true;
  }

  // The residuals after d, by those before it.
  void update(Block& block, const MultiVector& d, const CorrectionSizes& sizes) {
    block.subtract(multiply(d), multiply(block.low));
    for (std::size_t i = 0; i < sizes.norms.size(); ++i) {
      Column& c = column(block.numbers[i]);
      ++c.updates;
      c.drift += (static_cast<double>(system_.n()) + c.updates) * eps * sizes.norms[i];
    }
    measure_errors(block);
  }

  // Whether the present x is better than the best one. Of two that are good enough, the one whose
  // corrections are smaller; where a row cancels and none is, one with a small forward error.
  bool is_better(const Column& c) const {
    if (!forward_ || !c.outcome.converged) return c.error < c.outcome.error || c.norm.done();
    return c.error < tolerance_ && (c.norm.smaller || c.norm.done());
  }

  // The rates at which the corrections and the residuals fall.
  void judge(const Block& block, const CorrectionSizes& sizes) {
    const Vector residuals = system_.b_space().largest(block.extended);
    for (std::size_t i = 0; i < residuals.size(); ++i) {
      Column& c = column(block.numbers[i]);
      const double ratio = residuals[i] == 0 ? 0 : residuals[i] / c.residual;
      c.residual = residuals[i];
      c.norm.add(sizes.weighted[i], ratio);
      c.entries.add(sizes.entries[i], ratio);
      if (!options_.condition || !c.norm.done()) continue;
      const double condition = options_.condition();
      const double bounded = eps * system_.scaled_norm() * sizes.x[i];
      c.bounded = std::isinf(condition) || condition * residuals[i] <= bounded;
    }
  }

  // r <- b - A x, and the errors of x. The bounds are computed again where x has moved too far.
  void residuals(Block& block) {
    const bool with_bound = componentwise() && !bounds_hold(block);
    block.x_read = checksums_of(block.x);  // before it is read, and b afterwards
    {
      const auto watch = timer(forecast_.times.residuals, Phase::residuals, Activity::residual);
      System::Errors errors = forward_
                                  ? system_.extended_errors(block.x, block.low, block.b, with_bound)
                                  : system_.errors(block.x, block.b, with_bound);
      block.r = std::move(errors.residual);
      block.extended = std::move(errors.extended);
      if (with_bound) block.bound = std::move(errors.bound);
    }
    block.b_read = checksums_of(block.b);
    if (with_bound) std::ranges::fill(block.moved, 0.0);
    for (const std::int64_t k : block.numbers) {
      column(k).updates = 0;
      column(k).drift = 0;
    }
    measure_errors(block);
  }

  void measure_errors(const Block& block) {
    const Vector errors = componentwise() ? system_.componentwise_errors(block.r, block.bound)
                                          : scaled_residuals(system_, block);
    for (std::int64_t i = 0; i < block.count(); ++i)
      column(block.numbers[static_cast<std::size_t>(i)]).error =
          errors[static_cast<std::size_t>(i)];
  }

  // Whether the bounds of an earlier x stand for those of the present one. A bound costs a product
  // of matrices only for many vectors.
  bool bounds_hold(const Block& block) {
    if (block.count() <= Device::few_vectors || block.bound.count() == 0) return false;
    const std::int64_t moved = block.bounds_hold(system_.row_sums()) ? 0 : 1;
    return system_.grid().all().all_reduce(moved, Reduction::max) == 0;
  }

  // Residual and bound of each best x that was not the last one.
  void measure() {
    std::vector<std::int64_t> rest =
        numbers_of([](const Column& c) { return !c.measured && std::isfinite(c.outcome.error); });
    if (rest.empty() || !componentwise()) return;
    Block block = block_of(std::move(rest));
    for (std::int64_t i = 0; i < block.count(); ++i)
      put(column(block.numbers[static_cast<std::size_t>(i)]).outcome, block, i);
    residuals(block);
    for (std::int64_t i = 0; i < block.count(); ++i) {
      RefineOutcome& outcome = column(block.numbers[static_cast<std::size_t>(i)]).outcome;
      outcome.residual = block.r.vector(i);
      block.tell_read(outcome, i);
      if (forward_) outcome.extended = block.extended.vector(i);
      outcome.bound = block.bound.vector(i);
    }
  }

  // The trace shows the number of solves so far in place of a step of the factorization.
  RunContext::Span timer(double& sum, Phase phase, Activity activity) const {
    return system_.grid().all().run().stopwatch(
        sum, {.activity = activity, .phase = phase, .step = forecast_.solves});
  }

  // (L U)^-1 R, as a solve of each right-hand side of the block.
  MultiVector solve(const Block& block, const MultiVector& r) {
    const auto watch = timer(forecast_.times.solves, Phase::solves, Activity::solve);
    ++forecast_.solves;
    for (const std::int64_t k : block.numbers) ++column(k).outcome.iterations;
    return solver_.solve(r);
  }

  MultiVector multiply(const MultiVector& v) {
    const auto watch = timer(forecast_.times.residuals, Phase::residuals, Activity::product);
    return system_.multiply(v);
  }

  RefineOptions options_;
  double tolerance_;
  bool goes_on_;  // whether `ir` goes on below the tolerance while the error halves
  bool forward_;  // whether residuals have twice FP64's precision by now
  System& system_;
  FactorSolver& solver_;
  VectorSpace space_;
  const MultiVector& b_;
  std::vector<Column> columns_;
  Forecast forecast_;
};

}  // namespace

std::vector<RefineOutcome> refine(System& system, FactorSolver& solver, const MultiVector& b,
                                  const RefineOptions& options) {
  SPEEDWELL_EXPECTS(options.stop == StopRule::componentwise || b.count() == 1);
  SPEEDWELL_EXPECTS(!options.forward || system.is_extended());
  return Refinement(system, solver, b, options).run();
}

}  // namespace speedwell
