// SPDX-License-Identifier: BSD-3-Clause
#include "refine/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/expects.hpp"

namespace lupine {

namespace {

constexpr int most_turns = 6;        // of the vector of a lower bound
constexpr double least_gain = 1.1;   // of such a turn
constexpr int most_corrections = 4;  // of a product
constexpr double a_digit = 0.1;      // a correction below this part of the product is small
constexpr double trusted = 0.5;      // up to here, products can be refined

void subtract(const MultiVector& from, MultiVector& v) {
  for (std::size_t i = 0; i < v.all().size(); ++i) v.all()[i] = from.all()[i] - v.all()[i];
}

Vector times(const Vector& weights, Vector v) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] *= weights[i];
  return v;
}

bool is_negative(double value) {
  return value < 0;
}

}  // namespace

Inverse::Inverse(System& system, FactorSolver& solver, bool exact)
    : plain_{system.x_space(), system.b_part(), system.x_part(),
             [&](const MultiVector& v) { return solver.solve(v); },
             [&](const MultiVector& v) { return system.multiply(v); }},
      transposed_{system.b_space(), system.x_part(), system.b_part(),
                  [&](const MultiVector& v) { return solver.solve_transposed(v); },
                  [&](const MultiVector& v) { return system.multiply_transposed(v); }},
      known_(exact) {}

// B^-1 v for whole vectors v.
std::vector<Vector> Inverse::apply(Side& side, const std::vector<Vector>& vectors) {
  std::vector<Vector> parts;
  parts.reserve(vectors.size());
  for (const Vector& v : vectors) parts.push_back(local_part(side.from, v));
  const MultiVector products = side.solve(together(side.from.local_size(), parts));
  std::vector<Vector> whole;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const auto k = static_cast<std::int64_t>(i);
    whole.push_back(side.results.gather(side.to, products[k]));
    const double growth = largest(whole.back()) / largest(vectors[i]);
    if (known_ || !(growth > side.growth)) continue;
    side.growth = growth;
    side.largest = std::move(parts[i]);
    side.product = products.vector(k);
  }
  return whole;
}

// An estimate of ||z - B^-1 v|| / ||z|| for z = M v: the correction M (v - B z) takes the place of
// the difference. 0 for a side without products, which n = 1 has.
double Inverse::error(const Side& side) const {
  if (side.growth == 0) return 0;
  MultiVector residual = side.multiply(MultiVector(side.product));
  subtract(MultiVector(side.largest), residual);
  const Vector correction = side.solve(residual).only();
  return side.results.norm(correction) / side.results.norm(side.product);
}

// ||B||_inf = ||B^T||_1, so the 1-norm estimate gets B^T as its matrix, for
// B = diag(left) A^-1 diag(right).
std::vector<NormEstimate> Inverse::estimate(const std::vector<Weights>& weights) {
  const auto products = [&](Side& side, Vector Weights::*first, Vector Weights::*second) {
    return [&, first, second](const std::vector<Probe>& probes) {
      std::vector<Vector> vectors;
      vectors.reserve(probes.size());
      for (const Probe& p : probes) vectors.push_back(times(weights[p.matrix].*first, p.v));
      vectors = apply(side, vectors);
      for (std::size_t i = 0; i < probes.size(); ++i)
        vectors[i] = times(weights[probes[i].matrix].*second, std::move(vectors[i]));
      return vectors;
    };
  };
  return estimate_one_norms(plain_.to.size(), weights.size(),
                            products(transposed_, &Weights::left, &Weights::right),
                            products(plain_, &Weights::right, &Weights::left));
}

// The estimates of little accuracy have found good vectors; accurate products evaluate them:
// z <- z + M (v - B z), until the corrections are small.
void Inverse::refine(const std::vector<Weights>& weights, std::vector<NormEstimate>& found) {
  Side& side = transposed_;
  std::vector<Vector> parts;
  for (std::size_t i = 0; i < found.size(); ++i)
    parts.push_back(local_part(side.from, times(weights[i].left, found[i].x)));
  const MultiVector v = together(side.from.local_size(), parts);
  MultiVector z = side.solve(v);
  for (int round = 0; round < most_corrections; ++round) {
    MultiVector residual = side.multiply(z);
    subtract(v, residual);
    const MultiVector c = side.solve(residual);
    bool small = true;
    for (std::size_t i = 0; i < z.all().size(); ++i) z.all()[i] += c.all()[i];
    for (std::int64_t k = 0; k < z.count(); ++k)
      small &= side.results.norm(c.vector(k)) <= a_digit * side.results.norm(z.vector(k));
    if (small) break;
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    const Vector whole = side.results.gather(side.to, z[static_cast<std::int64_t>(i)]);
    found[i].norm = sum_of_magnitudes(times(weights[i].right, whole));
  }
}

std::optional<std::vector<double>> Inverse::norms(const std::vector<Weights>& weights) {
  for (const Weights& w : weights) {
    LUPINE_EXPECTS(std::none_of(w.left.begin(), w.left.end(), is_negative));
    LUPINE_EXPECTS(std::none_of(w.right.begin(), w.right.end(), is_negative));
  }
  if (error_ > trusted) return std::nullopt;
  std::vector<NormEstimate> found = estimate(weights);
  if (!known_) {
    known_ = true;
    const double of_both = std::max(error(plain_), error(transposed_));
    const bool any = transposed_.growth > 0;  // whether a product was finite
    error_ = any && std::isfinite(of_both) ? of_both : std::numeric_limits<double>::infinity();
    if (error_ > trusted) return std::nullopt;
  }
  if (error_ > a_digit) refine(weights, found);
  std::vector<double> norms;
  norms.reserve(found.size());
  for (const NormEstimate& estimate : found) norms.push_back(estimate.norm);
  return norms;
}

double Inverse::norm_at_least() {
  LUPINE_EXPECTS(known_);
  if (plain_.growth == 0) return std::numeric_limits<double>::infinity();
  MultiVector y(plain_.product);
  double best = 0;
  for (int turn = 0; turn <= most_turns; ++turn) {
    const MultiVector ay = plain_.multiply(y);
    const double ratio = plain_.results.largest(y)[0] / transposed_.results.largest(ay)[0];
    if (!(ratio > least_gain * best)) return std::max(best, ratio);
    best = ratio;
    MultiVector turned = plain_.solve(ay);
    subtract(y, turned);
    y = std::move(turned);
  }
  return best;
}

}  // namespace lupine
