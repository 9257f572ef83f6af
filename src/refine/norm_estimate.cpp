// SPDX-License-Identifier: BSD-3-Clause
#include "refine/norm_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/random.hpp"

namespace speedwell {

namespace {

constexpr std::size_t most_products = 5;

std::vector<bool> is_negative(const Vector& v) {
  std::vector<bool> signs(v.size());
  std::transform(v.begin(), v.end(), signs.begin(), [](double value) { return value < 0; });
  return signs;
}

Vector unit(std::size_t n, std::size_t j) {
  Vector e(n, 0.0);
  e[j] = 1;
  return e;
}

// A vector of 1-norm 1: of random numbers, of equal ones for number 0. Random signs would be
// orthogonal to the difference of two unit vectors half of the time.
Vector first_probe(std::size_t n, std::size_t number, std::uint64_t seed) {
  Vector x(n, 1);
  const Probes probes(seed, ProbeUse::norm);
  for (std::size_t i = 0; number > 0 && i < n; ++i) x[i] = probes.number(number * n + i);
  const double size = sum_of_magnitudes(x);
  for (double& value : x) value /= size;
  return x;
}

// The search for the norm of one matrix B of order n.
class Search {
 public:
  Search(std::size_t n, std::uint64_t seed)
      : n_(n), together_(probes_together(static_cast<std::int64_t>(n))), tried_(n, false) {
    for (std::size_t k = 0; k < std::min(n, together_); ++k)
      next_.push_back(n <= together_ ? unit(n, k) : first_probe(n, k, seed));
  }

  bool done() const { return next_.empty(); }
  const std::vector<Vector>& next() const { return next_; }
  NormEstimate take_best() { return std::move(best_); }

  /// Takes B x for each x of next(); then next() is the signs of these products, unless the search
  /// is done.
  void take(std::span<const Vector> products) {
    const double before = best_.norm;
    std::vector<std::vector<bool>> signs;
    for (std::size_t k = 0; k < products.size(); ++k) {
      const double norm = sum_of_magnitudes(products[k]);
      if (norm > best_.norm || best_.x.empty()) {
        best_ = {norm, next_[k]};
        best_unit_ = units_.empty() ? n_ : units_[k];
      }
      signs.push_back(is_negative(products[k]));
    }
    const bool gained = best_.norm > before || units_.empty();
    const bool turned = std::ranges::any_of(
        signs, [&](const auto& s) { return std::ranges::find(signs_, s) == signs_.end(); });
    next_.clear();
    if (n_ <= together_ || !gained || !turned || !std::isfinite(best_.norm)) return;
    signs_ = std::move(signs);
    for (const std::vector<bool>& s : signs_) {
      Vector v(n_);
      std::transform(s.begin(), s.end(), v.begin(),
                     [](bool negative) { return negative ? -1. : 1.; });
      next_.push_back(std::move(v));
    }
  }

  /// Takes B^T s for each s of next(), gradients of ||B x||_1: where they are largest are the unit
  /// vectors that next() is then, unless the search is done.
  void turn(std::span<const Vector> gradients) {
    Vector largest(n_, 0.0);
    for (const Vector& gradient : gradients)
      for (std::size_t i = 0; i < n_; ++i)
        largest[i] = std::max(largest[i], std::fabs(gradient[i]));
    std::vector<std::size_t> order(n_);
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto looked_at = static_cast<std::ptrdiff_t>(std::min(n_, most_products * together_));
    std::ranges::partial_sort(order, order.begin() + looked_at, [&](auto i, auto j) {
      return largest[i] != largest[j] ? largest[i] > largest[j] : i < j;
    });
    next_.clear();
    const bool at_top = best_unit_ < n_ && largest[order.front()] <= largest[best_unit_];
    units_.clear();
    for (std::size_t k = 0;
         !at_top && k < static_cast<std::size_t>(looked_at) && units_.size() < together_; ++k)
      if (!tried_[order[k]]) units_.push_back(order[k]);
    for (const std::size_t j : units_) {
      tried_[j] = true;
      next_.push_back(unit(n_, j));
    }
  }

 private:
  std::size_t n_;
  std::size_t together_;
  NormEstimate best_;
  std::size_t best_unit_ = 0;             // best_.x is this unit vector; n: it is none
  std::vector<Vector> next_;              // the vectors to be multiplied next
  std::vector<std::size_t> units_;        // which unit vectors they are
  std::vector<std::vector<bool>> signs_;  // of the last products with B
  std::vector<bool> tried_;               // unit vectors
};

// Multiplies the next vectors of all searches that are not done; false if all are.
bool advance(std::vector<Search>& searches, const ProbeProducts& products,
             void (Search::*take)(std::span<const Vector>)) {
  std::vector<Probe> probes;
  for (std::size_t m = 0; m < searches.size(); ++m)
    for (const Vector& v : searches[m].next()) probes.push_back({m, v});
  if (probes.empty()) return false;
  const std::vector<Vector> results = products(probes);
  std::span<const Vector> rest(results);
  for (Search& search : searches) {
    const std::size_t mine = search.next().size();
    if (mine > 0) (search.*take)(rest.first(mine));
    rest = rest.subspan(mine);
  }
  return true;
}

}  // namespace

double sum_of_magnitudes(const Vector& v) {
  double sum = 0;
  for (const double value : v) sum += std::fabs(value);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

std::vector<NormEstimate> estimate_one_norms(std::int64_t order, std::size_t matrices,
                                             const ProbeProducts& apply,
                                             const ProbeProducts& apply_transposed,
                                             std::uint64_t seed) {
  std::vector<Search> searches(matrices, Search(static_cast<std::size_t>(order), seed));
  for (std::size_t k = 1; advance(searches, apply, &Search::take) && k < most_products; ++k)
    if (!advance(searches, apply_transposed, &Search::turn)) break;
  std::vector<NormEstimate> found;
  found.reserve(matrices);
  for (Search& search : searches) found.push_back(search.take_best());
  return found;
}

}  // namespace speedwell
