// SPDX-License-Identifier: BSD-3-Clause
#include "refine/norm_estimate.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

namespace lupine {

namespace {

constexpr int most_estimates = 5;

Vector signs(const Vector& v) {
  Vector s(v.size());
  std::transform(v.begin(), v.end(), s.begin(), [](double value) { return value < 0 ? -1. : 1.; });
  return s;
}

std::size_t largest_index(const Vector& v) {
  const auto smaller = [](double a, double b) { return std::fabs(a) < std::fabs(b); };
  return static_cast<std::size_t>(std::max_element(v.begin(), v.end(), smaller) - v.begin());
}

Vector unit(std::size_t n, std::size_t j) {
  Vector e(n, 0.0);
  e[j] = 1;
  return e;
}

// x_i = (-1)^i (1 + i / (n - 1)) 2 / (3 n). Its product gives a second lower bound, for matrices on
// which the search over unit vectors finds too little.
Vector alternating(std::size_t n) {
  Vector x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const double size = 1 + (n > 1 ? static_cast<double>(i) / static_cast<double>(n - 1) : 0);
    x[i] = (i % 2 == 0 ? size : -size) * 2 / (3 * static_cast<double>(n));
  }
  return x;
}

// The search for one matrix.
struct Search {
  NormEstimate best;
  Vector sign;                        ///< of B best.x
  std::optional<std::size_t> column;  ///< the unit vector that was tried last
  bool done = false;

  /// Takes B x; x becomes the best vector if it is better.
  void take(Vector x, const Vector& product) {
    const double norm = sum_of_magnitudes(product);
    const Vector turned = signs(product);
    done = done || !(norm > best.norm) || turned == sign || !std::isfinite(norm);
    if (norm > best.norm || best.x.empty()) best = {norm, std::move(x)};
    sign = turned;
  }
  /// Takes B^T sign, the gradient of ||B x||_1: its largest entry j says that e_j is tried next.
  void turn(const Vector& gradient) {
    const std::size_t next = largest_index(gradient);
    done = column && std::fabs(gradient[next]) <= std::fabs(gradient[*column]);
    column = next;
  }
};

}  // namespace

double sum_of_magnitudes(const Vector& v) {
  double sum = 0;
  for (const double value : v) sum += std::fabs(value);
  return std::isnan(sum) ? std::numeric_limits<double>::infinity() : sum;
}

std::vector<NormEstimate> estimate_one_norms(std::int64_t order, std::size_t matrices,
                                             const ProbeProducts& apply,
                                             const ProbeProducts& apply_transposed) {
  const auto n = static_cast<std::size_t>(order);
  std::vector<Search> searches(matrices);
  // B x for x = (1/n, ..., 1/n) and for the alternating x of each matrix, in one call.
  std::vector<Probe> probes;
  for (std::size_t m = 0; m < matrices; ++m) {
    probes.push_back({m, Vector(n, 1 / static_cast<double>(order))});
    probes.push_back({m, alternating(n)});
  }
  const std::vector<Vector> first = apply(probes);
  for (std::size_t m = 0; m < matrices; ++m) {
    searches[m].take(std::move(probes[2 * m].v), first[2 * m]);
    searches[m].done = n == 1 || !std::isfinite(searches[m].best.norm);
  }
  // Then for unit vectors e_j. Each ||B x||_1 is a lower bound.
  const auto with_all = [&](const ProbeProducts& products, const auto& probe, const auto& use) {
    std::vector<Probe> mine;
    for (std::size_t m = 0; m < matrices; ++m)
      if (!searches[m].done) mine.push_back({m, probe(searches[m])});
    if (mine.empty()) return false;
    const std::vector<Vector> results = products(mine);
    for (std::size_t i = 0; i < mine.size(); ++i)
      use(searches[mine[i].matrix], std::move(mine[i].v), results[i]);
    return true;
  };
  for (int round = 0; round < most_estimates; ++round) {
    with_all(
        apply_transposed, [](const Search& s) { return s.sign; },
        [](Search& s, const Vector&, const Vector& gradient) { s.turn(gradient); });
    const bool any = with_all(
        apply, [&](const Search& s) { return unit(n, *s.column); },
        [](Search& s, Vector e, const Vector& product) { s.take(std::move(e), product); });
    if (!any) break;
  }
  std::vector<NormEstimate> found;
  for (std::size_t m = 0; m < matrices; ++m) {
    const double other = sum_of_magnitudes(first[2 * m + 1]);
    NormEstimate& best = searches[m].best;
    found.push_back(other > best.norm ? NormEstimate{other, alternating(n)} : std::move(best));
  }
  return found;
}

NormEstimate estimate_one_norm(std::int64_t order,
                               const std::function<Vector(const Vector&)>& apply,
                               const std::function<Vector(const Vector&)>& apply_transposed) {
  const auto one_by_one = [](const std::function<Vector(const Vector&)>& product) {
    return [&product](const std::vector<Probe>& probes) {
      std::vector<Vector> results;
      results.reserve(probes.size());
      for (const Probe& probe : probes) results.push_back(product(probe.v));
      return results;
    };
  };
  return estimate_one_norms(order, 1, one_by_one(apply), one_by_one(apply_transposed)).front();
}

}  // namespace lupine
