// SPDX-License-Identifier: BSD-3-Clause
#include "refine/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers.hpp"
#include "matrix/footprint.hpp"
#include "refine/gmres.hpp"

namespace lupine {

namespace {

// The smallest default tolerance is 4 eps: the residual itself has rounding errors of some eps.
constexpr double least_growth = 4;
// A correction is slow if the error stays above this part of the least error before it.
constexpr double slow_ratio = 0.5;
// The steps of GMRES by which its rate is judged, and the fewest and most steps before that.
constexpr std::size_t judged_steps = 4;
constexpr double most_unjudged = 12;
// The alternative to a refinement that is given up takes some corrections too.
constexpr double own_steps = 3;

class Refinement {
 public:
  Refinement(System& system, LuSolver& solver, const RefineOptions& options, const Clock& clock)
      : options_(options),
        tolerance_(options.stop == StopRule::benchmark ? 1
                   : options.tolerance > 0             ? options.tolerance
                                                       : default_tolerance(system.n())),
        goes_on_(options.stop == StopRule::componentwise && options.tolerance == 0),
        clock_(clock),
        system_(system),
        solver_(solver),
        space_(system.grid(), Layout::columns),
        now_{Vector(static_cast<std::size_t>(system.columns().local_size()), 0.0), system.b(),
             componentwise() ? 1 : 1 / (eps * static_cast<double>(system.n()))},
        best_(now_) {}

  RefineOutcome run() {
    switch (options_.method) {
      case RefineMethod::automatic:
        classic();
        now_ = best_;  // classical refinement may have diverged
        if (!done()) gmres();
        break;
      case RefineMethod::ir:
        classic();
        break;
      case RefineMethod::gmres:
        gmres();
        break;
    }
    outcome_.x = std::move(best_.x);
    outcome_.error = best_.error;
    return std::move(outcome_);
  }

 private:
  struct Iterate {
    Vector x;
    Vector r;      ///< b - A x
    double error;  ///< by the stop rule

    bool finite() const { return std::isfinite(error); }
  };
  /// Counts the successive errors that were more than half of the least error before them.
  struct Slowness {
    int times = 0;  ///< in succession
    double before = std::numeric_limits<double>::infinity();

    void add(double error) {
      times = error <= slow_ratio * before ? 0 : times + 1;
      before = std::min(before, error);
    }
  };

  bool componentwise() const { return options_.stop == StopRule::componentwise; }
  bool done() const { return outcome_.converged || left() <= 0 || outcome_.forecast > 0; }
  int left() const { return options_.max_iterations - outcome_.iterations; }

  // Classical refinement: L U d = r,  x <- x + d,  r <- b - A x.
  void classic() {
    Slowness slow;
    const auto gains = [&] {
      return goes_on_ && slow.times == 0 && left() > 0 && now_.error > eps;
    };
    while ((!done() || gains()) && slow.times < 2 && now_.finite()) {
      const double before = now_.error;
      slow.add(correct(solve(now_.r)));
      if (outcome_.iterations < 2 || outcome_.converged) continue;
      const double steps = steps_needed(now_.error / before, now_.error);
      if (steps <= worthwhile_steps()) continue;
      if (options_.method == RefineMethod::ir) outcome_.forecast = steps;
      break;
    }
  }

  // GMRES on (L U)^-1 A d = (L U)^-1 r, preconditioned from the left; then x <- x + d and
  // r <- b - A x. The error of x decides when to stop, not the residual of GMRES.
  void gmres() {
    outcome_.method = RefineMethod::gmres;
    const int restart = gmres_restart(system_.n(), system_.grid().shape());
    const auto goes_on = [this](std::span<const double> residuals) {
      return is_worth_more(residuals);
    };
    const auto preconditioned = [this](const Vector& v) { return solve(multiply(v)); };
    Slowness slow;
    while (!done() && slow.times < 2 && now_.finite()) {
      const Vector z = solve(now_.r);
      const double tolerance = std::clamp(0.1 * tolerance_ / now_.error, 1e-14, 1e-3);
      const GmresCycle cycle = gmres_cycle(
          space_, preconditioned, z, std::min(restart, std::max(left(), 0)), tolerance, goes_on);
      outcome_.gmres_residual = cycle.residual;
      slow.add(correct(cycle.steps > 0 ? cycle.correction : z));
      if (slow.times > 0 && cycle.steps == restart) break;  // a full cycle gained too little
    }
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
    const double mine = outcome_.times.solves + outcome_.times.residuals;
    const double seconds = system_.grid().all().all_reduce(mine, Reduction::max);
    return own_steps + options_.worth * outcome_.iterations / std::max(seconds, 1e-9);
  }

  // Decides after a step of GMRES, by the rate of the last steps: a plateau that has just ended
  // counts as ended.
  bool is_worth_more(std::span<const double> residuals) {
    const std::size_t k = residuals.size() - 1;
    const double most = worthwhile_steps();
    if (std::isinf(most) ||
        static_cast<double>(k) < std::clamp(most / 8, 1. * judged_steps, most_unjudged))
      return true;
    const double last = residuals[k] / residuals[k - 1];
    const double average = std::pow(residuals[k] / residuals[k - judged_steps], 1. / judged_steps);
    const double steps = steps_needed(std::min(last, average), residuals[k] * now_.error);
    if (steps <= most) return true;
    outcome_.forecast = steps;
    return false;
  }

  // x <- x + d,  r <- b - A x, and the error of x; keeps the best x.
  double correct(const Vector& d) {
    for (std::size_t i = 0; i < d.size(); ++i) now_.x[i] += d[i];
    const System::Errors errors = [&] {
      const Stopwatch watch = timer(outcome_.times.residuals, Phase::residuals, Activity::residual);
      return system_.errors(now_.x, componentwise());
    }();
    now_.r = errors.residual;
    now_.error = componentwise() ? system_.componentwise_error(errors)
                                 : scaled_residual(system_.norms(now_.x, now_.r), system_.n());
    outcome_.history.push_back(now_.error);
    if (now_.error < best_.error) best_ = now_;
    outcome_.converged = best_.error < tolerance_;
    return now_.error;
  }

  // The trace shows the number of solves so far in place of a step of the factorization.
  Stopwatch timer(double& sum, Phase phase, Activity activity) const {
    return {clock_,
            sum,
            options_.trace,
            {.activity = activity, .phase = phase, .step = outcome_.iterations},
            system_.grid().all().stalls()};
  }

  Vector solve(const Vector& r) {
    const Stopwatch watch = timer(outcome_.times.solves, Phase::solves, Activity::solve);
    ++outcome_.iterations;
    return solver_.solve(r);
  }

  Vector multiply(const Vector& v) {
    const Stopwatch watch = timer(outcome_.times.residuals, Phase::residuals, Activity::product);
    return system_.multiply(v);
  }

  RefineOptions options_;
  double tolerance_;
  bool goes_on_;  // whether `ir` goes on below the tolerance while the error halves
  const Clock& clock_;
  System& system_;
  LuSolver& solver_;
  VectorSpace space_;
  Iterate now_;  // begins with x = 0, r = b
  Iterate best_;
  RefineOutcome outcome_;
};

}  // namespace

double default_tolerance(std::int64_t n) {
  return std::max(std::sqrt(static_cast<double>(n)), least_growth) * eps;
}

RefineOutcome refine(System& system, LuSolver& solver, const RefineOptions& options,
                     const Clock& clock) {
  return Refinement(system, solver, options, clock).run();
}

RefineOutcome refine(Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                     const RefineOptions& options, const Clock& clock) {
  System system(transport.grid(), transport.device(),
                generated_matrix(spec, lu.rows(), lu.columns()), lu.rows(), lu.columns());
  system.set_b(right_hand_side(spec, lu.rows()));
  LuSolver solver(transport, lu, options.width, pivots, options.trace);
  return refine(system, solver, options, clock);
}

Vector solve(Transport& transport, const DistributedMatrix& lu,
             std::span<const std::int64_t> pivots, const MatrixSpec& spec, std::int64_t width,
             Trace* trace) {
  return LuSolver(transport, lu, width, pivots, trace).solve(right_hand_side(spec, lu.rows()));
}

}  // namespace lupine
