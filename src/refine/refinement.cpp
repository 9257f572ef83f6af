// SPDX-License-Identifier: BSD-3-Clause
#include "refine/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "refine/approximations.hpp"
#include "refine/gmres.hpp"

namespace lupine {

namespace {

// The steps of GMRES by which its rate is judged, and the fewest and most steps before that.
constexpr std::size_t judged_steps = 4;
constexpr double most_unjudged = 12;
// The alternative to a refinement that is given up takes some corrections too.
constexpr double own_steps = 3;

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
        system_(system),
        solver_(solver),
        space_(system.x_space()),
        b_(b),
        columns_(static_cast<std::size_t>(b.count())) {}

  std::vector<RefineOutcome> run() {
    begin();
    if (options_.corrections > 0) {
      classic_as_asked();
    } else {
      if (options_.method != RefineMethod::gmres) classic();
      if (options_.forward_worth > 0) classic_forward();
      if (options_.method != RefineMethod::ir) gmres();
      measure();
    }
    std::vector<RefineOutcome> outcomes;
    for (Column& column : columns_) {
      column.outcome.times = times_;
      column.outcome.forward = options_.forward;
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
  // Whether x is good enough, and further corrections make it more accurate. Where some entries
  // tell no rate, because they are much smaller than others or zero, the norm alone decides.
  bool sharpens(const Column& c) const {
    if (!options_.forward || !c.outcome.converged || left(c) <= 0 || !c.finite()) return false;
    const bool by_norm = !c.norm.done() && c.norm.shrinks;
    const bool by_entries = !c.entries.done() && c.entries.settled() && c.entries.shrinks;
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
      if (options_.forward) c.outcome.low = c.outcome.x;
      c.residual = sizes[static_cast<std::size_t>(k)];
    }
  }

  // These right-hand sides with x = 0.
  Block block_of(std::vector<std::int64_t> numbers) const {
    Block block;
    block.b = MultiVector(b_.size(), std::ssize(numbers));
    block.x = MultiVector(system_.x_part().local_size(), std::ssize(numbers));
    for (std::int64_t i = 0; i < std::ssize(numbers); ++i)
      std::ranges::copy(b_[numbers[static_cast<std::size_t>(i)]], block.b[i].begin());
    block.r = block.b;
    if (options_.forward) block.low = block.x;
    block.moved.assign(numbers.size(), 0.0);
    block.numbers = std::move(numbers);
    return block;
  }

  Block block_of_all() const {
    std::vector<std::int64_t> all(columns_.size());
    std::iota(all.begin(), all.end(), 0);
    return block_of(std::move(all));
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
        leave(block, i, c);
    }
    block.keep(places);
  }

  // If the present x is the best one, its residual and bound are the outcome's.
  void leave(const Block& block, std::int64_t place, Column& c) {
    if (c.outcome.history.empty() || c.error != c.outcome.error) return;
    c.outcome.x = block.x.vector(place);
    c.outcome.residual = block.r.vector(place);
    if (options_.forward) {
      c.outcome.low = block.low.vector(place);
      c.outcome.extended = block.extended.vector(place);
    }
    c.outcome.bound = block.bound.count() > 0 ? block.bound.vector(place) : Vector{};
    c.measured = true;
  }

  // Classical refinement: L U d = r,  x <- x + d,  r <- b - A x.
  void classic() {
    std::vector<std::int64_t> all;
    for (std::int64_t k = 0; k < b_.count(); ++k)
      if (column(k).finite()) all.push_back(k);
    Block block = block_of(std::move(all));
    const auto stays = [&](Column& c) {
      const bool gains = goes_on_ && c.slow.times == 0 && left(c) > 0 && c.error > eps;
      return sharpens(c) || ((!done(c) || gains) && c.slow.times < 2 && c.finite());
    };
    keep_if(block, stays);
    while (block.count() > 0) {
      Vector before;
      for (const std::int64_t k : block.numbers) before.push_back(column(k).error);
      correct(block, solve(block, block.residual()));
      const double worthwhile = worthwhile_steps();
      std::size_t place = 0;
      keep_if(block, [&](Column& c) {
        const double ratio = c.error / before[place++];
        if (c.outcome.iterations >= 2 && !c.outcome.converged) {
          const double steps = steps_needed(ratio, c.error);
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
  void classic_forward() {
    const auto fits = [&](const Column& c) { return c.outcome.converged && left(c) > 0; };
    if (b_.count() > Device::few_vectors || solves_ == 0 || !std::ranges::all_of(columns_, fits))
      return;
    const double begin = seconds();
    const double solve_time = slowest(times_.solves) / solves_;
    const auto is_worth = [&](double residual_time) {
      times_.forward = 2 * solve_time + 3 * residual_time;
      return times_.forward <= options_.forward_worth;
    };
    if (!is_worth(slowest(times_.residuals) / solves_)) return;
    options_.forward = true;
    for (Column& c : columns_) c.outcome.low.assign(c.outcome.x.size(), 0.0);
    Block block = block_of_all();
    begin_again(block);
    const double first = seconds() - begin;
    if (!is_worth(first)) {
      options_.forward = false;
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
    times_.forward = seconds() - begin;
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
    std::vector<std::int64_t> rest;
    for (std::int64_t k = 0; k < b_.count(); ++k)
      if (!done(column(k)) && std::isfinite(column(k).outcome.error)) rest.push_back(k);
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
    if (options_.forward) std::ranges::copy(outcome.low, block.low[place].begin());
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
        c.outcome.gmres_residual = cycle.residuals().back();
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
      const double worthwhile = worthwhile_steps();
      for (std::int64_t i = 0; i < v.count(); ++i) {
        GmresCycle& cycle = cycles[static_cast<std::size_t>(places[static_cast<std::size_t>(i)])];
        cycle.take(w.vector(i));
        Column& c = column(part.numbers[static_cast<std::size_t>(i)]);
        if (!is_worth_more(cycle.residuals(), worthwhile, c)) cycle.stop();
      }
    }
    return cycles;
  }

  // The steps that take the error to the tolerance if each multiplies it by `ratio`.
  double steps_needed(double ratio, double error) const {
    if (error <= tolerance_) return 0;
    if (!(ratio < 1)) return std::numeric_limits<double>::infinity();
    return ratio > 0 ? std::log(tolerance_ / error) / std::log(ratio) : 1;
  }

  // The solves that take as long as the alternative; equal on every rank.
  double worthwhile_steps() const {
    if (std::isinf(options_.worth)) return options_.worth;
    return own_steps + options_.worth * solves_ / std::max(seconds(), 1e-9);
  }

  // Of the slowest rank.
  double seconds() const { return slowest(times_.solves + times_.residuals); }
  double slowest(double seconds) const {
    return system_.grid().all().all_reduce(seconds, Reduction::max);
  }

  // Decides after a step of GMRES, by the rate of the last steps: a plateau that has just ended
  // counts as ended.
  bool is_worth_more(std::span<const double> residuals, double most, Column& c) const {
    const std::size_t k = residuals.size() - 1;
    if (std::isinf(most) ||
        static_cast<double>(k) < std::clamp(most / 8, 1. * judged_steps, most_unjudged))
      return true;
    const double last = residuals[k] / residuals[k - 1];
    const double average = std::pow(residuals[k] / residuals[k - judged_steps], 1. / judged_steps);
    const double steps = steps_needed(std::min(last, average), residuals[k] * c.error);
    if (steps <= most) return true;
    c.outcome.forecast = steps;
    return false;
  }

  // x <- x + d,  r <- b - A x, and the errors of x; keeps the best x.
  void correct(Block& block, const MultiVector& d) {
    const Vector sizes = space_.largest(d);
    for (std::size_t i = 0; i < sizes.size(); ++i) block.moved[i] += sizes[i];
    block.add(d);
    residuals(block);
    if (options_.forward) judge(block, d);
    for (std::int64_t i = 0; i < block.count(); ++i) {
      Column& c = column(block.numbers[static_cast<std::size_t>(i)]);
      c.outcome.history.push_back(c.error);
      c.slow.add(c.error);
      if (is_better(c)) {
        c.outcome.error = c.error;
        c.measured = false;
        std::ranges::copy(block.x[i], c.outcome.x.begin());
        if (options_.forward) std::ranges::copy(block.low[i], c.outcome.low.begin());
      }
      c.outcome.converged = c.outcome.error < tolerance_;
    }
  }

  // Whether the present x is better than the best one. Of two that are good enough, the one whose
  // corrections are smaller.
  bool is_better(const Column& c) const {
    if (!options_.forward || !c.outcome.converged) return c.error < c.outcome.error;
    return c.error < tolerance_ && (c.norm.smaller || c.norm.done());
  }

  // The relative sizes of the corrections D, and the rates at which they fall.
  void judge(const Block& block, const MultiVector& d) {
    Vector most;  // of each: ||W d||, ||W x||, the largest |d_i| / |x_i|, ||r||
    for (std::int64_t k = 0; k < block.count(); ++k) {
      Vector of_d = d.vector(k);
      Vector of_x = block.x.vector(k);
      Vector ratios(of_d.size(), 0.0);
      for (std::size_t i = 0; i < ratios.size(); ++i)
        if (of_d[i] != 0) ratios[i] = of_d[i] / of_x[i];
      for (std::size_t i = 0; i < options_.weights.size(); ++i) {
        of_d[i] *= options_.weights[i];
        of_x[i] *= options_.weights[i];
      }
      for (const double value :
           {largest(of_d), largest(of_x), largest(ratios), largest(block.extended[k])})
        most.push_back(value);
    }
    system_.grid().all().all_reduce(most, Reduction::max);
    for (std::int64_t k = 0; k < block.count(); ++k) {
      const double* of = most.data() + 4 * k;
      Column& c = column(block.numbers[static_cast<std::size_t>(k)]);
      const double residuals = of[3] == 0 ? 0 : of[3] / c.residual;
      c.residual = of[3];
      c.norm.add(of[0] == 0 ? 0 : of[0] / of[1], residuals);
      c.entries.add(of[2], residuals);
    }
  }

  // r <- b - A x, and the errors of x. The bounds are computed again where x has moved too far.
  void residuals(Block& block) {
    const bool with_bound = componentwise() && !bounds_hold(block);
    {
      const auto watch = timer(times_.residuals, Phase::residuals, Activity::residual);
      System::Errors errors = options_.forward
                                  ? system_.extended_errors(block.x, block.low, block.b, with_bound)
                                  : system_.errors(block.x, block.b, with_bound);
      block.r = std::move(errors.residual);
      block.extended = std::move(errors.extended);
      if (with_bound) block.bound = std::move(errors.bound);
    }
    if (with_bound) std::ranges::fill(block.moved, 0.0);
    const Vector errors = componentwise() ? system_.componentwise_errors(block.r, block.bound)
                                          : scaled_residuals(block);
    for (std::int64_t i = 0; i < block.count(); ++i)
      column(block.numbers[static_cast<std::size_t>(i)]).error =
          errors[static_cast<std::size_t>(i)];
  }

  Vector scaled_residuals(const Block& block) const {
    Vector errors;
    for (std::int64_t i = 0; i < block.count(); ++i)
      errors.push_back(
          scaled_residual(system_.norms(block.x[i], block.b[i], block.r[i]), system_.n()));
    return errors;
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
    std::vector<std::int64_t> rest;
    for (std::int64_t k = 0; k < b_.count(); ++k)
      if (!column(k).measured && std::isfinite(column(k).outcome.error)) rest.push_back(k);
    if (rest.empty() || !componentwise()) return;
    Block block = block_of(std::move(rest));
    for (std::int64_t i = 0; i < block.count(); ++i)
      put(column(block.numbers[static_cast<std::size_t>(i)]).outcome, block, i);
    residuals(block);
    for (std::int64_t i = 0; i < block.count(); ++i) {
      RefineOutcome& outcome = column(block.numbers[static_cast<std::size_t>(i)]).outcome;
      outcome.residual = block.r.vector(i);
      if (options_.forward) outcome.extended = block.extended.vector(i);
      outcome.bound = block.bound.vector(i);
    }
  }

  // The trace shows the number of solves so far in place of a step of the factorization.
  RunContext::Span timer(double& sum, Phase phase, Activity activity) const {
    return system_.grid().all().run().stopwatch(
        sum, {.activity = activity, .phase = phase, .step = solves_});
  }

  // (L U)^-1 R, as a solve of each right-hand side of the block.
  MultiVector solve(const Block& block, const MultiVector& r) {
    const auto watch = timer(times_.solves, Phase::solves, Activity::solve);
    ++solves_;
    for (const std::int64_t k : block.numbers) ++column(k).outcome.iterations;
    return solver_.solve(r);
  }

  MultiVector multiply(const MultiVector& v) {
    const auto watch = timer(times_.residuals, Phase::residuals, Activity::product);
    return system_.multiply(v);
  }

  RefineOptions options_;
  double tolerance_;
  bool goes_on_;  // whether `ir` goes on below the tolerance while the error halves
  System& system_;
  FactorSolver& solver_;
  VectorSpace space_;
  const MultiVector& b_;
  std::vector<Column> columns_;
  int solves_ = 0;  // each of all right-hand sides that were left
  RefineTimes times_;
};

}  // namespace

std::vector<RefineOutcome> refine(System& system, FactorSolver& solver, const MultiVector& b,
                                  const RefineOptions& options) {
  LUPINE_EXPECTS(options.stop == StopRule::componentwise || b.count() == 1);
  LUPINE_EXPECTS(!options.forward || system.is_extended());
  return Refinement(system, solver, b, options).run();
}

}  // namespace lupine
