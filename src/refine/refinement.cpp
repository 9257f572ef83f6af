// SPDX-License-Identifier: BSD-3-Clause
#include "refine/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/numbers.hpp"
#include "refine/gmres.hpp"

namespace lupine {

namespace {

constexpr int restart = 30;  // most steps of a GMRES cycle
// The smallest default tolerance is 4 eps: the residual itself has rounding errors of some eps.
constexpr double least_growth = 4;
// A correction is slow if the error stays above this part of the least error before it.
constexpr double slow_ratio = 0.5;

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
  bool done() const { return outcome_.converged || left() <= 0; }
  int left() const { return options_.max_iterations - outcome_.iterations; }

  // Classical refinement: L U d = r,  x <- x + d,  r <- b - A x.
  void classic() {
    Slowness slow;
    const auto gains = [&] {
      return goes_on_ && slow.times == 0 && left() > 0 && now_.error > eps;
    };
    while ((!done() || gains()) && slow.times < 2 && now_.finite())
      slow.add(correct(solve(now_.r)));
  }

  // GMRES on (L U)^-1 A d = (L U)^-1 r, preconditioned from the left; then x <- x + d and
  // r <- b - A x. The error of x decides when to stop, not the residual of GMRES.
  void gmres() {
    outcome_.method = RefineMethod::gmres;
    const auto preconditioned = [this](const Vector& v) { return solve(multiply(v)); };
    Slowness slow;
    while (!done() && slow.times < 2 && now_.finite()) {
      const Vector z = solve(now_.r);
      const double tolerance = std::clamp(0.1 * tolerance_ / now_.error, 1e-14, 1e-3);
      const GmresCycle cycle =
          gmres_cycle(space_, preconditioned, z, std::min(restart, std::max(left(), 0)), tolerance);
      slow.add(correct(cycle.steps > 0 ? cycle.correction : z));
      if (slow.times > 0 && cycle.steps == restart) break;  // a full cycle gained too little
    }
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
