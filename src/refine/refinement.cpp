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
  Refinement(const ProcessGrid& grid, Device& device, const DistributedMatrix& lu,
             const MatrixSpec& spec, const RefineOptions& options, const Clock& clock)
      : options_(options),
        clock_(clock),
        system_(grid, device, spec, lu.rows(), lu.columns()),
        solver_(grid, device, lu, options.width),
        x_(static_cast<std::size_t>(lu.columns().local_size()), 0.0),
        r_(system_.b()),
        excess_(1 / (eps * static_cast<double>(system_.n()))) {}

  RefineOutcome run() {
    if (options_.method != RefineMethod::gmres) classic();
    if (!done() && options_.method != RefineMethod::ir && !broken_) gmres();
    outcome_.x = std::move(best_);
    return std::move(outcome_);
  }

 private:
  bool done() const { return outcome_.converged || left() <= 0; }
  int left() const { return options_.max_iterations - outcome_.iterations; }

  // L U d = r;  x <- x + d;  r <- b - A x.
  void classic() {
    int slow = 0;
    double before = std::numeric_limits<double>::infinity();
    while (!done() && slow < 2 && !broken_) {
      const double now = correct(solve(r_));
      slow = now > slow_ratio * before ? slow + 1 : 0;
      before = now;
    }
  }

  // (L U)^-1 A d = (L U)^-1 r, left-preconditioned; the true residual decides.
  void gmres() {
    outcome_.method = RefineMethod::gmres;
    const auto preconditioned = [this](const Vector& v) { return solve(multiply(v)); };
    int slow = 0;
    double before = std::numeric_limits<double>::infinity();
    while (!done() && slow < 2 && !broken_) {
      const Vector z = solve(r_);
      const double tolerance = std::clamp(0.1 / excess_, 1e-14, 0.1);
      const GmresCycle cycle = gmres_cycle(system_, preconditioned, z,
                                           std::min(restart, std::max(left(), 0)), tolerance);
      const double now = correct(cycle.steps > 0 ? cycle.correction : z);
      slow = now > slow_ratio * before ? slow + 1 : 0;
      before = now;
    }
  }

  double correct(const Vector& d) {
    for (std::size_t i = 0; i < x_.size(); ++i) x_[i] += d[i];
    {
      const Stopwatch watch(clock_, outcome_.times.residuals);
      r_ = system_.residual(x_);
    }
    const SystemNorms norms = system_.norms(x_, r_);
    excess_ = norms.residual / allowed(norms);
    outcome_.history.push_back(scaled_residual(norms, system_.n()));
    outcome_.converged = excess_ < 1 || norms.residual == 0;
    broken_ = !std::isfinite(norms.residual) || !std::isfinite(norms.x);
    if (best_.empty() || excess_ < best_excess_) {
      best_ = x_;
      best_excess_ = excess_;
    }
    return norms.residual;
  }

  // The residual that is good enough.
  double allowed(const SystemNorms& norms) const {
    const auto n = static_cast<double>(system_.n());
    return options_.stop == StopRule::benchmark ? n * eps * (norms.a * norms.x + norms.b)
                                                : std::sqrt(n) * eps * norms.a * norms.x;
  }

  Vector solve(const Vector& r) {
    const Stopwatch watch(clock_, outcome_.times.solves);
    ++outcome_.iterations;
    return solver_.solve(r);
  }

  Vector multiply(const Vector& v) {
    const Stopwatch watch(clock_, outcome_.times.residuals);
    return system_.multiply(v);
  }

  RefineOptions options_;
  const Clock& clock_;
  System system_;
  LuSolver solver_;
  Vector x_;
  Vector r_;
  Vector best_;
  double best_excess_ = 0;
  double excess_;  // ||r|| over what is allowed; of x = 0 at first
  bool broken_ = false;
  RefineOutcome outcome_;
};

}  // namespace

RefineOutcome refine(const ProcessGrid& grid, Device& device, const DistributedMatrix& lu,
                     const MatrixSpec& spec, const RefineOptions& options, const Clock& clock) {
  return Refinement(grid, device, lu, spec, options, clock).run();
}

}  // namespace lupine
