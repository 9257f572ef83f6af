// SPDX-License-Identifier: BSD-3-Clause
#include "refine/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "refine/gmres.hpp"
#include "refine/norm_estimate.hpp"

namespace lupine {

namespace {

constexpr int most_steps = 30;       // steps of a GMRES cycle
constexpr int most_cycles = 6;       // GMRES cycles for one product
constexpr double two_digits = 0.01;  // tolerance of a GMRES cycle
constexpr double a_digit = 0.1;      // a correction below this part of the product is small
constexpr double trusted = 0.5;      // up to here, products are taken as they are

Vector difference(Vector a, const Vector& b) {
  for (std::size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

Vector times(const Vector& weights, Vector v) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] *= weights[i];
  return v;
}

bool is_negative(double value) {
  return value < 0;
}

}  // namespace

Inverse::Inverse(System& system, LuSolver& solver, bool exact)
    : plain_{VectorSpace(system.grid(), Layout::columns), system.rows(), system.columns(),
             [&](const Vector& v) { return solver.solve(v); },
             [&](const Vector& v) { return system.multiply(v); }},
      transposed_{VectorSpace(system.grid(), Layout::rows), system.columns(), system.rows(),
                  [&](const Vector& v) { return solver.solve_transposed(v); },
                  [&](const Vector& v) { return system.multiply_transposed(v); }},
      known_(exact) {}

Vector Inverse::apply(Side& side, const Vector& v) {
  const Vector part = local_part(side.from, v);
  Vector z = side.solve(part);
  if (mends_) z = mended(side, part, std::move(z));
  Vector whole = side.results.gather(side.to, z);
  const double growth = largest(whole) / largest(v);
  if (!known_ && growth > side.growth) {
    side.growth = growth;
    side.largest = part;
    side.product = std::move(z);
  }
  return whole;
}

// Returns s = B^-1 v by cycles of GMRES on M B c = M (v - B s), s <- s + c, from s = 0; z is M v.
// Where M B is ill-conditioned, a small residual does not show that s is accurate; a small c does.
Vector Inverse::mended(const Side& side, const Vector& v, Vector z) {
  const auto preconditioned = [&](const Vector& w) { return side.solve(side.multiply(w)); };
  Vector sum(z.size(), 0.0);
  for (int round = 0; round < most_cycles; ++round) {
    const Vector c =
        gmres_cycle(side.results, preconditioned, z, most_steps, two_digits).correction;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += c[i];
    if (side.results.norm(c) <= a_digit * side.results.norm(sum)) return sum;
    z = side.solve(difference(v, side.multiply(sum)));
  }
  failed_ = true;
  return sum;
}

// An estimate of ||z - B^-1 v|| / ||z|| for z = M v: the correction M (v - B z) takes the place of
// the difference. Infinity where no product was finite.
double Inverse::error(const Side& side) const {
  if (side.growth == 0) return std::numeric_limits<double>::infinity();
  const Vector correction = side.solve(difference(side.largest, side.multiply(side.product)));
  return side.results.norm(correction) / side.results.norm(side.product);
}

double Inverse::norm() {
  const Vector ones(static_cast<std::size_t>(plain_.to.size()), 1.0);
  return weighted_norm(ones, ones);
}

// ||B||_inf = ||B^T||_1, so the 1-norm estimate gets B^T as its matrix, for
// B = diag(left) A^-1 diag(right).
double Inverse::weighted_norm(const Vector& left, const Vector& right) {
  LUPINE_EXPECTS(std::none_of(left.begin(), left.end(), is_negative));
  LUPINE_EXPECTS(std::none_of(right.begin(), right.end(), is_negative));
  const auto estimate = [&] {
    return estimate_one_norm(
        plain_.to.size(),
        [&](const Vector& v) { return times(right, apply(transposed_, times(left, v))); },
        [&](const Vector& v) { return times(left, apply(plain_, times(right, v))); });
  };
  NormEstimate found = estimate();
  if (!known_) {
    known_ = true;
    error_ = std::max(error(plain_), error(transposed_));
    mends_ = !(error_ <= trusted);
    if (mends_) found = estimate();
  }
  // The estimate of little accuracy has found a good vector; one accurate product evaluates it.
  if (!mends_ && error_ > a_digit) {
    const Vector v = local_part(transposed_.from, times(left, found.x));
    const Vector z = mended(transposed_, v, transposed_.solve(v));
    found.norm = sum_of_magnitudes(times(right, transposed_.results.gather(transposed_.to, z)));
  }
  return failed_ ? std::numeric_limits<double>::infinity() : found.norm;
}

}  // namespace lupine
