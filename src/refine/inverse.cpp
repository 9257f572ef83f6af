// SPDX-License-Identifier: BSD-3-Clause
#include "refine/inverse.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "core/expects.hpp"
#include "core/numbers.hpp"
#include "core/random.hpp"

namespace speedwell {

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t first_block = 6;  // vectors of a lower bound, at first
constexpr int most_turns = 8;            // of these vectors
constexpr int most_corrections = 4;      // of a product
constexpr double a_digit = 0.1;          // a correction below this part of the product is small
constexpr double trusted = 0.5;          // up to here, products can be refined
constexpr double insensitive = 1e-3;     // s below which the estimates hold
constexpr std::int64_t quickly_refined =
    256;  // the order up to which products cost next to nothing
constexpr double independent = 0x1p-40;
constexpr std::int64_t witnesses = 4;  // random vectors that show what the factors hide
constexpr double seldom = 0x1p-5;      // the part along a unit vector that each of them exceeds
constexpr double settling = 0.75;      // what is left of a witness at most, in each turn

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

// ||v||_2. Squares of v divided by its largest entry neither overflow nor vanish.
double norm_of(const Vector& v) {
  const double size = largest(v);
  if (size == 0 || !std::isfinite(size)) return size;
  double sum = 0;
  for (const double value : v) sum += value / size * (value / size);
  return size * std::sqrt(sum);
}

double product(const Vector& a, const Vector& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void add(double factor, const Vector& from, Vector& to) {
  for (std::size_t i = 0; i < to.size(); ++i) to[i] += factor * from[i];
}

// Vectors of random numbers, uniform in [-1, 1). Signs would be orthogonal to the difference of two
// unit vectors, which is what two equal columns leave, half of the time.
MultiVector random_vectors(const Distribution& mine, std::int64_t count, std::uint64_t seed) {
  MultiVector vectors(mine.local_size(), count);
  Vector whole(static_cast<std::size_t>(mine.size()));
  const Probes probes(seed, ProbeUse::inverse);
  std::uint64_t place = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    for (double& value : whole) value = probes.number(place++);
    std::ranges::copy(local_part(mine, whole), vectors[k].begin());
  }
  return vectors;
}

// V = Q R by Gram and Schmidt, twice: V <- Q, and returns the columns of R. `drop`: without the
// vectors that depend on those before them.
std::vector<Vector> orthonormalize(std::vector<Vector>& v, bool drop) {
  std::vector<Vector> q;
  std::vector<Vector> r;
  for (Vector& next : v) {
    const double before = norm_of(next);
    Vector column(v.size(), 0.0);
    for (int twice = 0; twice < 2; ++twice)
      for (std::size_t l = 0; l < q.size(); ++l) {
        const double c = product(q[l], next);
        column[l] += c;
        add(-c, q[l], next);
      }
    const double left = norm_of(next);
    if (drop && !(left > independent * before)) continue;
    column[q.size()] = std::max(left, std::numeric_limits<double>::min());
    for (double& value : next) value /= column[q.size()];
    q.push_back(std::move(next));
    r.push_back(std::move(column));
  }
  v = std::move(q);
  return r;
}

// Coefficients c for which ||sum_k c_k w_k|| is nearly smallest beside ||c||: inverse iteration
// with R^T R, where W = Q R.
Vector smallest_combination(std::vector<Vector> w) {
  const std::size_t t = w.size();
  const std::vector<Vector> r = orthonormalize(w, false);  // R_lk is r[k][l]
  Vector c(t, 1.0);
  for (int round = 0; round < 4; ++round) {
    for (std::size_t k = 0; k < t; ++k) {  // R^T z = c
      for (std::size_t l = 0; l < k; ++l) c[k] -= r[k][l] * c[l];
      c[k] /= r[k][k];
    }
    const double between = largest(c);
    for (double& value : c) value /= between;
    for (std::size_t l = t; l-- > 0;) {  // R c = z
      for (std::size_t k = l + 1; k < t; ++k) c[l] -= r[k][l] * c[k];
      c[l] /= r[l][l];
    }
    const double size = largest(c);
    if (!(size > 0) || !std::isfinite(size)) return Vector(t, 1.0);
    for (double& value : c) value /= size;
  }
  return c;
}

}  // namespace

// Subnormal numbers and below: where a product of two numbers, of up to 2^16 of them, may be lost.
double underflow_of(Precision update, Precision storage) {
  if (storage == Precision::fp16) return 0x1p-24;  // of an entry itself
  switch (update) {
    case Precision::fp64:
      return 0x1p-1000;
    case Precision::fp16:
      return 0x1p-38;
    case Precision::fp16x3:
      return 0x1p-49;
    default:
      return 0x1p-110;
  }
}

Inverse::Inverse(System& system, FactorSolver& solver, FactorError error, std::uint64_t seed)
    : system_(system),
      factors_(error),
      seed_(seed),
      plain_{system.x_space(), system.b_part(), system.x_part(),
             [&](const MultiVector& v) { return solver.solve(v); },
             [&](const MultiVector& v) { return system.multiply(v); }},
      transposed_{system.b_space(), system.x_part(), system.b_part(),
                  [&](const MultiVector& v) { return solver.solve_transposed(v); },
                  [&](const MultiVector& v) { return system.multiply_transposed(v); }} {}

// Results of products with B^-1, whole and of this rank.
std::vector<Vector> Inverse::whole(const Operator& op, const MultiVector& results) {
  std::vector<Vector> vectors;
  vectors.reserve(static_cast<std::size_t>(results.count()));
  for (std::int64_t k = 0; k < results.count(); ++k)
    vectors.push_back(op.results.gather(op.to, results[k]));
  return vectors;
}

MultiVector Inverse::local(const Operator& op, const std::vector<Vector>& vectors) {
  std::vector<Vector> parts;
  parts.reserve(vectors.size());
  for (const Vector& v : vectors) parts.push_back(local_part(op.to, v));
  return together(op.to.local_size(), parts);
}

// B^-1 v for whole vectors v.
std::vector<Vector> Inverse::apply(Operator& op, const std::vector<Vector>& vectors) {
  // The products whose errors are looked at.
  const std::size_t kept = probes_together(system_.n());
  std::vector<Vector> parts;
  parts.reserve(vectors.size());
  for (const Vector& v : vectors) parts.push_back(local_part(op.from, v));
  const MultiVector products = op.solve(together(op.from.local_size(), parts));
  std::vector<Vector> whole;
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const auto k = static_cast<std::int64_t>(i);
    whole.push_back(op.results.gather(op.to, products[k]));
    if (condition_) continue;
    const double before = norm_of(vectors[i]);
    const double growth = before > 0 ? norm_of(whole.back()) / before : 0;
    op.finite = op.finite && std::isfinite(growth);
    const auto place = std::ranges::find_if(
        op.largest, [&](const Operator::Product& p) { return growth > p.growth; });
    if (!std::isfinite(growth) || growth == 0 ||
        (place == op.largest.end() && op.largest.size() >= kept))
      continue;
    op.largest.insert(place, {growth, std::move(parts[i]), products.vector(k)});
    if (op.largest.size() > kept) op.largest.pop_back();
  }
  return whole;
}

// The largest ||z - B^-1 v|| / ||z|| of the products z = M v that grew most, where the correction
// M (v - B z) takes the place of the difference; and twice the largest entry of B times random
// numbers, which is about ||B||_2 for a B without structure. Infinity norms do not overflow where
// squares would.
Inverse::Check Inverse::check(const Operator& op) const {
  if (!op.finite || op.largest.empty()) return {infinity, 0};
  std::vector<Vector> v;
  std::vector<Vector> z;
  for (const Operator::Product& p : op.largest) {
    v.push_back(p.v);
    z.push_back(p.z);
  }
  const std::int64_t count = std::ssize(v);
  z.push_back(random_vectors(op.to, 1, seed_).only());
  const MultiVector products = together(op.to.local_size(), z);
  MultiVector images = op.multiply(products);
  const VectorSpace& other = &op == &plain_ ? transposed_.results : plain_.results;
  Check found;
  found.norm = 2 * other.largest(images)[static_cast<std::size_t>(count)];
  images.truncate(count);
  subtract(together(op.from.local_size(), v), images);
  const Vector sizes = op.results.largest(products);
  const Vector corrections = op.results.largest(op.solve(images));
  for (std::size_t i = 0; i < v.size(); ++i) {
    const double e = corrections[i] / sizes[i];
    found.error = std::max(found.error, std::isnan(e) ? infinity : e);
  }
  return found;
}

// Whether E^k w becomes small for random w, E = I - M B. It does not where B is singular and M
// hides that: E leaves what B makes zero as it is, so 1 is an eigenvalue of E, and for its left
// eigenvector y, ||y||_2 = 1, ||E^k w||_2 >= |y^T E^k w| = |y^T w|. By K. Ball's bound
// (docs/numerics.md, 5.4) that is below `seldom` for all w with a probability of at most
// (sqrt(2) seldom)^4 = 4e-6.
bool Inverse::settles(const Operator& op) const {
  MultiVector w = random_vectors(op.to, witnesses, seed_);
  for (double before = infinity;;) {
    double size = 0;
    for (std::int64_t k = 0; k < w.count(); ++k) {
      const double norm = op.results.norm(w.vector(k));
      size = std::max(size, std::isnan(norm) ? infinity : norm);
    }
    if (size <= seldom / 2) return true;
    if (!(size < settling * before)) return false;
    before = size;
    MultiVector known = op.solve(op.multiply(w));
    subtract(w, known);
    w = std::move(known);
  }
}

// ||B||_inf = ||B^T||_1, so the 1-norm estimate gets B^T as its matrix, for
// B = diag(left) A^-1 diag(right).
std::vector<NormEstimate> Inverse::estimate(const std::vector<Weights>& weights) {
  const auto products = [&](Operator& op, Vector Weights::*first, Vector Weights::*second) {
    return [&, first, second](const std::vector<Probe>& probes) {
      std::vector<Vector> vectors;
      vectors.reserve(probes.size());
      for (const Probe& p : probes) vectors.push_back(times(weights[p.matrix].*first, p.v));
      vectors = apply(op, vectors);
      for (std::size_t i = 0; i < probes.size(); ++i)
        vectors[i] = times(weights[probes[i].matrix].*second, std::move(vectors[i]));
      return vectors;
    };
  };
  return estimate_one_norms(plain_.to.size(), weights.size(),
                            products(transposed_, &Weights::left, &Weights::right),
                            products(plain_, &Weights::right, &Weights::left), seed_);
}

// The estimates of little accuracy have found good vectors; accurate products evaluate them:
// z <- z + M (v - B z), until the corrections change no norm by more than this part of it. Returns
// by how much the last ones do.
double Inverse::refine(const std::vector<Weights>& weights, std::vector<NormEstimate>& found,
                       double goal) {
  Operator& op = transposed_;
  std::vector<Vector> parts;
  for (std::size_t i = 0; i < found.size(); ++i)
    parts.push_back(local_part(op.from, times(weights[i].left, found[i].x)));
  const auto norm = [&](const MultiVector& of, std::size_t i) {
    Vector all = op.results.gather(op.to, of[static_cast<std::int64_t>(i)]);
    return sum_of_magnitudes(times(weights[i].right, std::move(all)));
  };
  const MultiVector v = together(op.from.local_size(), parts);
  MultiVector z = op.solve(v);
  double last = infinity;
  for (int round = 0; round < most_corrections && last > goal; ++round) {
    MultiVector residual = op.multiply(z);
    subtract(v, residual);
    const MultiVector c = op.solve(residual);
    for (std::size_t i = 0; i < z.all().size(); ++i) z.all()[i] += c.all()[i];
    last = 0;
    for (std::size_t i = 0; i < found.size(); ++i) {
      found[i].norm = norm(z, i);
      const double change = norm(c, i);
      if (!(change <= last * found[i].norm)) last = change / found[i].norm;
    }
    if (std::isnan(last)) last = infinity;
  }
  return last;
}

// The relative error of products; infinity where they are not accurate.
double Inverse::judged() {
  if (!plain_.finite || !transposed_.finite || transposed_.largest.empty()) return infinity;
  double growth = transposed_.largest.front().growth;
  if (!plain_.largest.empty()) growth = std::max(growth, plain_.largest.front().growth);
  const double per_norm = growth * factors_.roundoff;
  double entries = std::max(factors_.growth, 1.0);
  if (std::isnan(entries)) entries = infinity;
  const double sensitivity = per_norm * entries * system_.scaled_norm();
  if (sensitivity <= insensitive) return sensitivity;
  const bool of_plain = !plain_.largest.empty() && plain_.largest.front().growth == growth;
  const Operator& op = of_plain ? plain_ : transposed_;
  const Check found = check(op);
  if (!(per_norm * found.norm < 1 && found.error <= trusted)) return infinity;
  if (!(per_norm * entries * found.norm < 1) && !settles(op)) return infinity;
  return found.error;
}

std::optional<std::vector<double>> Inverse::norms(std::vector<Weights> weights) {
  for (const Weights& w : weights) {
    SPEEDWELL_EXPECTS(std::none_of(w.left.begin(), w.left.end(), is_negative));
    SPEEDWELL_EXPECTS(std::none_of(w.right.begin(), w.right.end(), is_negative));
  }
  if (error_ > trusted) return std::nullopt;
  const bool first = !condition_;
  const Vector ones(static_cast<std::size_t>(system_.n()), 1.0);
  if (first) weights.push_back({ones, ones});
  std::vector<NormEstimate> found = estimate(weights);
  if (first) error_ = judged();
  double left = error_;
  // What e says of whole products is not what the factors change in a norm of parts of them.
  const bool quickly = system_.n() <= quickly_refined && factors_.roundoff > eps;
  const double goal = quickly ? error_of_norms_ : a_digit;
  if (left > goal && left <= trusted) left = std::min(left, refine(weights, found, goal));
  const bool accurate = left <= a_digit;
  if (accurate) error_of_norms_ = std::max(error_of_norms_, left);
  if (first)
    condition_ = accurate ? ConditionEstimate{system_.scaled_norm() * found.back().norm, false}
                          : ConditionEstimate{system_.scaled_norm() * norm_at_least(), true};
  if (!accurate) {
    if (first) error_ = infinity;
    return std::nullopt;
  }
  if (first) found.pop_back();
  std::vector<double> norms;
  norms.reserve(found.size());
  for (const NormEstimate& estimate : found) norms.push_back(estimate.norm * margin());
  return norms;
}

// L U = A + D with |D| <= d, an entry that holds nothing of it at worst: with M = (L U)^-1,
//     |A^-1| f <= |M| (f + |D| |A^-1| f) <= |M| f + |M| d n ||A^-1|| ||f||.
double Inverse::lost_by_underflow() {
  if (condition().at_least) return infinity;
  const double inverse = margin() * condition().value / system_.scaled_norm();
  const double off = factors_.underflow * std::max(1.0, factors_.growth);
  return off * static_cast<double>(system_.n()) * inverse * inverse;
}

const ConditionEstimate& Inverse::condition() {
  if (!condition_) norms({});
  return *condition_;
}

double Inverse::norm_at_least() {
  // Random vectors that (L U)^-1 or its transpose has made grow, and those that grew most so far.
  const auto grown = [this](Operator& op) {
    std::vector<Vector> vectors = whole(op, op.solve(random_vectors(op.from, first_block, seed_)));
    for (const Operator::Product& p : op.largest) vectors.push_back(op.results.gather(op.to, p.z));
    return vectors;
  };
  std::vector<Vector> y = grown(plain_);
  std::vector<Vector> lost = grown(transposed_);
  const auto is_finite = [](const Vector& v) { return std::isfinite(largest(v)); };
  if (!std::ranges::all_of(y, is_finite) || !std::ranges::all_of(lost, is_finite)) return infinity;
  orthonormalize(lost, true);
  const double n = static_cast<double>(system_.n());
  double best = 0;
  for (int turn = 0; turn <= most_turns; ++turn) {
    orthonormalize(y, true);
    if (y.empty()) break;
    const MultiVector q = local(plain_, y);
    std::vector<Vector> images = whole(transposed_, plain_.multiply(q));
    const Vector c = smallest_combination(images);
    Vector smallest(static_cast<std::size_t>(system_.n()), 0.0);
    for (std::size_t k = 0; k < y.size(); ++k) add(c[k], y[k], smallest);
    const System::Errors image = system_.errors(MultiVector(local_part(plain_.to, smallest)),
                                                MultiVector(plain_.from.local_size(), 1), true);
    const double size = transposed_.results.largest(image.residual)[0] +
                        (n + 1) * eps * transposed_.results.largest(image.bound)[0];
    best = std::max(best, largest(smallest) / size);
    // What the factors have lost, they make grow, and roundings with it: every other turn leaves
    // that out. The turns between find what `lost` has missed.
    if (turn % 2 == 1)
      for (Vector& v : images)
        for (const Vector& u : lost) add(-product(u, v), u, v);
    MultiVector turned = plain_.solve(local(transposed_, images));
    subtract(q, turned);
    y = whole(plain_, turned);
    y.push_back(std::move(smallest));
  }
  return best;
}

}  // namespace speedwell
