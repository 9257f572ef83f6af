// SPDX-License-Identifier: BSD-3-Clause
#include "refine/gmres.hpp"

#include <cmath>
#include <utility>

namespace lupine {

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

// (x, y) <- (c x + s y, c y - s x): a Givens rotation.
struct Rotation {
  double c = 1;
  double s = 0;
  void apply(double& x, double& y) const {
    const double t = c * x + s * y;
    y = c * y - s * x;
    x = t;
  }
};

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

GmresCycle gmres_cycle(const VectorSpace& space, const std::function<Vector(const Vector&)>& apply,
                       const Vector& z, int restart, double tolerance,
                       const std::function<bool(std::span<const double>)>& goes_on) {
  const double beta = space.norm(z);
  GmresCycle cycle{Vector(z.size(), 0.0)};
  if (!(beta > 0) || !std::isfinite(beta)) return cycle;

  std::vector<Vector> basis{z};
  divide(basis[0], beta);
  std::vector<Vector> r;
  std::vector<Rotation> rotations;
  Vector g{beta};
  std::vector<double> residuals{1};
  // ||z - B d|| is |g.back()|, without computing d.
  while (cycle.steps < restart && std::fabs(g.back()) > tolerance * beta) {
    // Arnoldi: B v_k = V h + next v_(k+1).
    Vector w = apply(basis.back());
    ++cycle.steps;
    Vector h = orthogonalize(space, basis, w);
    const double next = space.norm(w);
    // The rotations of earlier steps, then a new one that turns (h_k, next) into (length, 0), make
    // column k of R; the new one is applied to g too.
    for (std::size_t i = 0; i < rotations.size(); ++i) rotations[i].apply(h[i], h[i + 1]);
    const double length = std::hypot(h.back(), next);
    if (!(length > 0) || !std::isfinite(length)) break;
    const Rotation rotation{h.back() / length, next / length};
    rotations.push_back(rotation);
    h.back() = length;
    r.push_back(std::move(h));
    g.push_back(0);
    rotation.apply(g[g.size() - 2], g[g.size() - 1]);
    residuals.push_back(std::fabs(g.back()) / beta);
    if (next == 0) break;  // the exact d is a combination of the basis
    divide(w, next);
    basis.push_back(std::move(w));
    if (goes_on && !goes_on(residuals)) break;
  }
  cycle.residual = std::fabs(g.back()) / beta;
  // d = V y with R y = g.
  const Vector y = back_substitute(r, g);
  for (std::size_t i = 0; i < y.size(); ++i) axpy(y[i], basis[i], cycle.correction);
  return cycle;
}

}  // namespace lupine
