// SPDX-License-Identifier: BSD-3-Clause
#include "refine/gmres.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/expects.hpp"

namespace speedwell {

namespace {

// v <- v + alpha u
void axpy(double alpha, const Vector& u, Vector& v) {
  for (std::size_t i = 0; i < v.size(); ++i) v[i] += alpha * u[i];
}

void divide(Vector& v, double by) {
  for (double& value : v) value /= by;
}

// With V the basis: h = V^T w, w <- w - V h, done twice; returns the sum of both h. Twice is enough
// for w to be orthogonal to working precision (Giraud, Langou, Rozloznik, van den Eshof 2005).
Vector orthogonalize(const VectorSpace& space, const std::vector<Vector>& basis, Vector& w) {
  Vector h(basis.size(), 0.0);
  for (int pass = 0; pass < 2; ++pass) {
    const Vector part = space.dots(basis, w);
    for (std::size_t i = 0; i < basis.size(); ++i) {
      axpy(-part[i], basis[i], w);
      h[i] += part[i];
    }
  }
  return h;
}

// y = R^-1 g by back substitution. R is upper triangular; r[j] holds its column j, rows 0 to j.
Vector back_substitute(const std::vector<Vector>& r, const Vector& g) {
  Vector y(r.size(), 0.0);
  for (std::size_t i = r.size(); i-- > 0;) {
    double sum = g[i];
    for (std::size_t j = i + 1; j < r.size(); ++j) sum -= r[j][i] * y[j];
    y[i] = sum / r[i][i];
  }
  return y;
}

}  // namespace

int gmres_restart(std::int64_t n, const GridShape& shape) {
  const std::int64_t sides = std::max(shape.nprow, shape.npcol);
  return static_cast<int>(std::clamp<std::int64_t>(n / (40 * sides), 30, 200));
}

std::int64_t gmres_vectors(std::int64_t n, const GridShape& shape) {
  const std::int64_t sides = std::max(shape.nprow, shape.npcol);
  return std::clamp<std::int64_t>(n / (10 * sides * gmres_restart(n, shape)), 1, 16);
}

GmresCycle::GmresCycle(const VectorSpace& space, Vector z, int restart, double tolerance)
    : space_(space),
      z_(std::move(z)),
      restart_(restart),
      tolerance_(tolerance),
      beta_(space_.norm(z_)) {
  if (!(beta_ > 0) || !std::isfinite(beta_)) return;
  basis_.push_back(z_);
  divide(basis_[0], beta_);
  g_.push_back(beta_);
  runs_ = restart_ > 0 && tolerance_ < 1;
}

// Arnoldi: B v_k = V h + next v_(k+1). The rotations of earlier steps, then a new one that turns
// (h_k, next) into (length, 0), make column k of R; the new one is applied to g too. ||z - B d|| is
// |g_last|, without computing d.
void GmresCycle::take(Vector w) {
  SPEEDWELL_EXPECTS(runs_);
  ++steps_;
  Vector h = orthogonalize(space_, basis_, w);
  const double next = space_.norm(w);
  for (std::size_t i = 0; i < rotations_.size(); ++i) rotations_[i].apply(h[i], h[i + 1]);
  const double length = std::hypot(h.back(), next);
  runs_ = false;
  if (!(length > 0) || !std::isfinite(length)) return;
  const Rotation rotation{h.back() / length, next / length};
  rotations_.push_back(rotation);
  h.back() = length;
  r_.push_back(std::move(h));
  g_.push_back(0);
  rotation.apply(g_[g_.size() - 2], g_[g_.size() - 1]);
  residuals_.push_back(std::fabs(g_.back()) / beta_);
  if (next == 0) return;  // the exact d is a combination of the basis
  divide(w, next);
  basis_.push_back(std::move(w));
  runs_ = steps_ < restart_ && residuals_.back() > tolerance_;
}

// d = V y with R y = g.
Vector GmresCycle::correction() const {
  if (steps_ == 0) return z_;
  Vector d(z_.size(), 0.0);
  const Vector y = back_substitute(r_, g_);
  for (std::size_t i = 0; i < y.size(); ++i) axpy(y[i], basis_[i], d);
  return d;
}

}  // namespace speedwell
