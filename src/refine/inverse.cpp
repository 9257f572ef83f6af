#include "refine/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "refine/gmres.hpp"
#include "refine/norm_estimate.hpp"

namespace lupine {

namespace {

constexpr int most_steps = 30;  // of GMRES, in a cycle
constexpr int most_rounds = 4;  // of cycles, for one product
constexpr double two_digits = 0.01;
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

// A^-1 v or A^-T v: M v, M being (L U)^-1 or its transpose; or, mended, by GMRES on M A z = M v. A
// small residual of that says little of z where M A is ill-conditioned itself: what the next cycle
// corrects does.
Vector Inverse::product(Layout layout, const Vector& v, const Linear& solve,
                        const Linear& multiply) {
  Vector z = solve(v);
  if (!mends_) return z;
  const VectorSpace space(system_.grid(), layout);
  const auto preconditioned = [&](const Vector& w) { return solve(multiply(w)); };
  Vector sum(z.size(), 0.0);
  for (int round = 0; round < most_rounds; ++round) {
    const Vector c = gmres_cycle(space, preconditioned, z, most_steps, two_digits).correction;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += c[i];
    if (space.norm(c) <= a_digit * space.norm(sum)) return sum;
    Vector r = multiply(sum);
    for (std::size_t i = 0; i < r.size(); ++i) r[i] = v[i] - r[i];
    z = solve(r);
  }
  failed_ = true;
  return sum;
}

Vector Inverse::apply(const Vector& v) {
  const Vector z = product(
      Layout::columns, local_part(system_.rows(), v),
      [this](const Vector& r) { return solver_.solve(r); },
      [this](const Vector& w) { return system_.multiply(w); });
  Vector whole = VectorSpace(system_.grid(), Layout::columns).gather(system_.columns(), z);
  const double growth = largest(whole) / largest(v);
  if (growth > growth_) {
    growth_ = growth;
    largest_ = v;
  }
  return whole;
}

Vector Inverse::apply_transposed(const Vector& v) {
  const Vector z = product(
      Layout::rows, local_part(system_.columns(), v),
      [this](const Vector& r) { return solver_.solve_transposed(r); },
      [this](const Vector& w) { return system_.multiply_transposed(w); });
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
