#include "refine/refinement.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "refine/gmres.hpp"
#include "refine/lu_solver.hpp"
#include "refine/system.hpp"

namespace lupine {

namespace {

constexpr int restart = 30;
constexpr double eps = 0x1p-53;
constexpr double slow_ratio = 0.5;  // a residual that falls by less than this is slow

class Refinement {
 public:
  Refinement(Transport& transport, const DistributedMatrix& lu,
             std::span<const std::int64_t> pivots, const MatrixSpec& spec,
             const RefineOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        system_(transport.grid(), transport.device(), spec, lu.rows(), lu.columns()),
        solver_(transport, lu, options.width, pivots, options.trace),
        now_{Vector(static_cast<std::size_t>(lu.columns().local_size()), 0.0), system_.b(),
             1 / (eps * static_cast<double>(system_.n()))},
        best_(now_) {}

  RefineOutcome run() {
    if (options_.method != RefineMethod::gmres) classic();
    now_ = best_;  // should it have diverged
    if (!done() && options_.method != RefineMethod::ir) gmres();
    outcome_.x = std::move(best_.x);
    return std::move(outcome_);
  }

 private:
  struct Iterate {
    Vector x;
    Vector r;       ///< b - A x
    double excess;  ///< ||r|| over what is allowed

    bool finite() const { return std::isfinite(excess); }
  };

  bool done() const { return outcome_.converged || left() <= 0; }
  int left() const { return options_.max_iterations - outcome_.iterations; }

  // L U d = r;  x <- x + d;  r <- b - A x.
  void classic() {
    int slow = 0;
    double before = std::numeric_limits<double>::infinity();
    while (!done() && slow < 2 && now_.finite()) {
      const double residual = correct(solve(now_.r));
      slow = residual > slow_ratio * before ? slow + 1 : 0;
      before = residual;
    }
  }

  // (L U)^-1 A d = (L U)^-1 r, left-preconditioned; the true residual decides.
  void gmres() {
    outcome_.method = RefineMethod::gmres;
    const auto preconditioned = [this](const Vector& v) { return solve(multiply(v)); };
    int slow = 0;
    double before = std::numeric_limits<double>::infinity();
    while (!done() && slow < 2 && now_.finite()) {
      const Vector z = solve(now_.r);
      const double tolerance = std::clamp(0.1 / now_.excess, 1e-14, 0.1);
      const GmresCycle cycle = gmres_cycle(system_, preconditioned, z,
                                           std::min(restart, std::max(left(), 0)), tolerance);
      const double residual = correct(cycle.steps > 0 ? cycle.correction : z);
      slow = residual > slow_ratio * before ? slow + 1 : 0;
      before = residual;
    }
  }

  double correct(const Vector& d) {
    for (std::size_t i = 0; i < d.size(); ++i) now_.x[i] += d[i];
    {
      const Stopwatch watch = timer(outcome_.times.residuals, Phase::residuals, Activity::residual);
      now_.r = system_.residual(now_.x);
    }
    const SystemNorms norms = system_.norms(now_.x, now_.r);
    now_.excess = excess(norms);
    outcome_.history.push_back(scaled_residual(norms, system_.n()));
    outcome_.converged = now_.excess < 1;
    if (now_.excess < best_.excess) best_ = now_;
    return norms.residual;
  }

  // ||r|| over what the rule allows; NaN where x is beyond all bounds.
  double excess(const SystemNorms& norms) const {
    const double scaled = scaled_residual(norms, system_.n());
    if (options_.stop == StopRule::benchmark || !std::isfinite(scaled)) return scaled;
    if (norms.residual == 0) return 0;
    return norms.residual / (std::sqrt(static_cast<double>(system_.n())) * eps * norms.a * norms.x);
  }

  // The number of the correction stands for a step.
  Stopwatch timer(double& sum, Phase phase, Activity activity) const {
    return {clock_,
            sum,
            options_.trace,
            {.activity = activity, .phase = phase, .step = outcome_.iterations}};
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
  const Clock& clock_;
  System system_;
  LuSolver solver_;
  Iterate now_;  // x = 0 at first
  Iterate best_;
  RefineOutcome outcome_;
};

}  // namespace

RefineOutcome refine(Transport& transport, const DistributedMatrix& lu,
                     std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                     const RefineOptions& options, const Clock& clock) {
  return Refinement(transport, lu, pivots, spec, options, clock).run();
}

std::vector<double> solve(Transport& transport, const DistributedMatrix& lu,
                          std::span<const std::int64_t> pivots, const MatrixSpec& spec,
                          std::int64_t width, Trace* trace) {
  return LuSolver(transport, lu, width, pivots, trace).solve(right_hand_side(spec, lu.rows()));
}

}  // namespace lupine
