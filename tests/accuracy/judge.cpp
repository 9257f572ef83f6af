// SPDX-License-Identifier: BSD-3-Clause
#include "judge.hpp"

#include <algorithm>
#include <cmath>

#include "catch.hpp"

namespace speedwell::test {
namespace {

// The error of a componentwise error that is computed in FP64: Higham's gamma_(n+1).
double measured(std::int64_t n) {
  return static_cast<double>(n + 1) * eps;
}

void judge_steps(const Solution& solution) {
  REQUIRE(!solution.steps.empty());
  for (std::size_t i = 0; i < solution.steps.size(); ++i) {
    const SolveStep& step = solution.steps[i];
    CAPTURE(i, name(step.precision), step.why);
    // Only a step against the growth of entries repeats a precision.
    if (i > 0 && !step.rotated)
      CHECK(unit_roundoff(step.precision) < unit_roundoff(solution.steps[i - 1].precision));
    if (step.rotated) {
      CHECK(step.precision == Precision::fp64);
      CHECK(i > 0);
    }
    CHECK(step.solved == step.why.empty());
    CHECK(step.solved == (solution.converged && i + 1 == solution.steps.size()));
    CHECK(step.factor_seconds >= 0);
    CHECK(step.refine_seconds >= 0);
  }
}

}  // namespace

SolveOptions solve_options(GridShape shape, std::int64_t nb, Precision precision) {
  SolveOptions o;
  o.precision = precision;
  o.run.nb = nb;
  o.run.nprow = shape.nprow;
  o.run.npcol = shape.npcol;
  o.run.order = shape.order;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  o.run.threads = 1;
  return o;
}

Solution best_of(const std::function<Solution()>& work) {
  try {
    Solution solution = work();
    CHECK(solution.converged);
    return solution;
  } catch (const AccuracyError& error) {
    CHECK_FALSE(error.best().converged);
    return error.best();
  }
}

Reference::Reference(const Example& e) : e_(e), inverse_(e.a), dgesvx_(test::dgesvx(e.a, e.b)) {
  const Lapack lapack = test::dgesv(e.a, e.b);
  for (std::int64_t k = 0; k < e.b.columns; ++k)
    dgesv_.push_back(backward_errors(e.a, column(e.b, k), column(lapack.x, k)));
}

double Reference::condition(const SolveOptions& options) const {
  return test::condition(e_.a, inverse_, options.equilibrate ? equilibrated(e_.a) : Scales(e_.a.n));
}

void Reference::judge(const Solution& solution, const SolveOptions& options) const {
  judge_steps(solution);
  if (solution.columns.empty()) {  // no factors were usable
    CHECK_FALSE(solution.converged);
    return;
  }
  REQUIRE(solution.n == e_.a.n);
  REQUIRE(std::ssize(solution.columns) == e_.b.columns);
  REQUIRE(solution.x.size() == e_.b.data.size());
  const auto converged = [](const SolveColumn& c) { return c.converged; };
  CHECK(solution.converged ==
        std::all_of(solution.columns.begin(), solution.columns.end(), converged));
  const double tolerance = options.tolerance > 0
                               ? options.tolerance
                               : std::max(4.0, std::sqrt(static_cast<double>(e_.a.n))) * eps;
  for (std::int64_t k = 0; k < e_.b.columns; ++k) judge_column(solution, k, tolerance, options);
  CHECK(std::isnan(solution.condition) == (options.condition == ConditionCheck::off));
  if (!solution.converged || options.condition == ConditionCheck::off) return;
  const double kappa = condition(options);
  CAPTURE(kappa, solution.condition);
  // The estimate is a lower bound. Its products have only one correct digit where the factors have
  // few bits. Where they have none, it is said to be nothing else than a lower bound.
  if (solution.condition_at_least)
    CHECK(kappa * growth() * unit_roundoff(solution.precision()) > 0.02);
  else
    CHECK(solution.condition >= std::min(kappa, 1 / eps) / 10);
  const double slack = unit_roundoff(solution.precision()) < 1e-6 ? 1.01 : 1.1;
  if (kappa < 1e-2 / eps && growth() < 1 / eps) CHECK(solution.condition <= slack * kappa);
}

void Reference::judge_column(const Solution& solution, std::int64_t k, double tolerance,
                             const SolveOptions& options) const {
  const SolveColumn& said = solution.columns[static_cast<std::size_t>(k)];
  const auto b = column(e_.b, k);
  const auto x = std::span(solution.x).subspan(static_cast<std::size_t>(k * e_.a.n), b.size());
  const BackwardErrors found = backward_errors(e_.a, b, x);
  const BackwardErrors& dgesv = dgesv_[static_cast<std::size_t>(k)];
  CAPTURE(k, name(said.precision), name(said.method), said.iterations, said.converged);
  CAPTURE(found.componentwise / eps, found.normwise / eps, dgesv.componentwise / eps,
          dgesv.normwise / eps);
  const double unit = measured(e_.a.n);
  CHECK(std::fabs(said.componentwise_error - found.componentwise) <=
        unit * (1 + found.componentwise));
  CHECK(std::fabs(said.backward_error - found.normwise) <= unit * (1 + found.normwise));
  CHECK(said.hpl_residual == Approx(said.backward_error / (eps * double(e_.a.n))).epsilon(1e-12));
  // FP64 LU guarantees a small normwise error only.
  const bool by_norms = said.precision == Precision::fp64 && tolerance < 1e-14;
  CHECK(said.converged ==
        ((by_norms ? said.backward_error : said.componentwise_error) <= tolerance));
  if (!said.converged) return;
  CHECK(std::isnan(said.forward_bound) == std::isnan(solution.condition));
  // The residual as the solver computes it has rounding errors of the size of the tolerance.
  CHECK(found.componentwise <= std::max(10 * dgesv.componentwise, 2 * tolerance));
  CHECK(found.normwise <= std::max(10 * dgesv.normwise, 2 * tolerance));
  if (std::isnan(said.forward_bound)) return;
  CHECK(std::isinf(said.forward_bound) >= solution.condition_at_least);
  judge_bound(said, x, k, options);
  const double ferr = dgesvx_.ferr[static_cast<std::size_t>(k)];
  // Where the growth exceeds FP64's digits, products with the factors' inverse may have none.
  if (dgesvx_.info == 0 && std::isfinite(ferr + said.forward_bound) && tolerance < 1e-14 &&
      growth() < 1 / eps)
    CHECK(said.forward_bound <= 100 * ferr);
}

void Reference::judge_bound(const SolveColumn& said, std::span<const double> x, std::int64_t k,
                            const SolveOptions& options) const {
  const auto b = column(e_.b, k);
  const double error = forward_error(x, inverse_.times(b));
  const double bound = forward_bound(e_.a, inverse_, b, x);
  CAPTURE(said.forward_bound, error, bound);
  // A bound above 1 says that x has no correct digit, and then its size does not matter.
  if (bound > 1) {
    CHECK(said.forward_bound > 0.1);
    return;
  }
  // The bound is estimated from below, nearly always within a factor of three.
  CHECK(error <= 10 * said.forward_bound);
  CHECK(bound <= 10 * said.forward_bound);
  // The bound is infinite only where the factors are too weak to estimate A^-1.
  if (std::isinf(said.forward_bound)) {
    CHECK(condition(options) * growth() * unit_roundoff(said.precision) > 0.02);
    return;
  }
  // Up to half of the residual as the solver computes it may be rounding errors.
  if (growth() < 1 / eps) CHECK(said.forward_bound <= 2.2 * bound);
}

}  // namespace speedwell::test
