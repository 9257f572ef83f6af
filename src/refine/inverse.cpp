#include "refine/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "refine/gmres.hpp"
#include "refine/norm_estimate.hpp"

namespace lupine {

namespace {

constexpr int most_steps = 30;  // of GMRES, for one product
constexpr double a_digit = 0.1;

double largest(const Vector& v) {
  double most = 0;
  for (const double value : v) most = std::max(most, std::fabs(value));
  return most;
}

Vector times(const Vector& weights, Vector v) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] *= weights[i];
  return v;
}

}  // namespace

Inverse::Inverse(System& system, LuSolver& solver, bool exact)
    : system_(system), solver_(solver), known_(exact) {}

// z = M v, M being (L U)^-1 or its transpose; or, mended, what solves M A z = M v to a digit.
Vector Inverse::mended(Layout layout, Vector z, const Product& preconditioned) {
  if (!mends_) return z;
  const GmresCycle cycle =
      gmres_cycle(VectorSpace(system_.grid(), layout), preconditioned, z, most_steps, a_digit);
  failed_ = failed_ || cycle.residual > a_digit;
  return cycle.correction;
}

Vector Inverse::apply(const Vector& v) {
  const VectorSpace space(system_.grid(), Layout::columns);
  const Vector z = mended(Layout::columns, solver_.solve(local_part(system_.rows(), v)),
                          [this](const Vector& w) { return solver_.solve(system_.multiply(w)); });
  Vector whole = space.gather(system_.columns(), z);
  const double growth = largest(whole) / largest(v);
  if (growth > growth_) {
    growth_ = growth;
    largest_ = v;
  }
  return whole;
}

Vector Inverse::apply_transposed(const Vector& v) {
  const Vector z = mended(
      Layout::rows, solver_.solve_transposed(local_part(system_.columns(), v)),
      [this](const Vector& w) { return solver_.solve_transposed(system_.multiply_transposed(w)); });
  return VectorSpace(system_.grid(), Layout::rows).gather(system_.rows(), z);
}

// Whether (L U)^-1 v is A^-1 v to a digit: what a correction changes.
bool Inverse::agrees(const Vector& v) {
  const VectorSpace space(system_.grid(), Layout::columns);
  Vector r = local_part(system_.rows(), v);
  const Vector z = solver_.solve(r);
  const Vector az = system_.multiply(z);
  for (std::size_t i = 0; i < r.size(); ++i) r[i] -= az[i];
  return space.norm(solver_.solve(r)) <= a_digit * space.norm(z);
}

double Inverse::norm() {
  const Vector ones(static_cast<std::size_t>(system_.n()), 1.0);
  return weighted_norm(ones, ones);
}

// The largest row sum of B is the largest column sum of B^T.
double Inverse::weighted_norm(const Vector& left, const Vector& right) {
  const auto estimate = [&] {
    return estimate_one_norm(
        system_.n(),
        [&](const Vector& v) { return times(right, apply_transposed(times(left, v))); },
        [&](const Vector& v) { return times(left, apply(times(right, v))); });
  };
  double found = estimate();
  if (!known_) {
    known_ = true;
    mends_ = largest_.empty() || !agrees(largest_);
    if (mends_) found = estimate();
  }
  return failed_ ? std::numeric_limits<double>::infinity() : found;
}

}  // namespace lupine
