// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include "catch.hpp"
#include "plain.hpp"
#include "refine/norm_estimate.hpp"

namespace speedwell::test::norm_estimate_tests {
namespace {

Vector multiply(const Square& a, const Vector& x, bool transposed) {
  Vector y(x.size(), 0.0);
  for (std::int64_t j = 0; j < a.n; ++j)
    for (std::int64_t i = 0; i < a.n; ++i)
      y[static_cast<std::size_t>(transposed ? j : i)] +=
          a(i, j) * x[static_cast<std::size_t>(transposed ? i : j)];
  return y;
}

double one_norm(const Square& a) {
  double most = 0;
  for (std::int64_t j = 0; j < a.n; ++j) {
    double sum = 0;
    for (std::int64_t i = 0; i < a.n; ++i) sum += std::fabs(a(i, j));
    most = std::max(most, sum);
  }
  return most;
}

struct Counted {
  double estimate = 0;
  int products = 0;
  int transposed = 0;
};

Counted estimate(const Square& a) {
  Counted c;
  const auto products = [&](bool transposed) {
    return [&, transposed](const std::vector<Probe>& probes) {
      (transposed ? c.transposed : c.products) += static_cast<int>(probes.size());
      std::vector<Vector> results;
      results.reserve(probes.size());
      for (const Probe& probe : probes) results.push_back(multiply(a, probe.v, transposed));
      return results;
    };
  };
  const NormEstimate found = estimate_one_norms(a.n, 1, products(false), products(true), 1).front();
  c.estimate = found.norm;
  if (!std::isfinite(c.estimate)) return c;
  CHECK(sum_of_magnitudes(found.x) <= 1 + 1e-14);
  CHECK(sum_of_magnitudes(multiply(a, found.x, false)) == c.estimate);
  return c;
}

}  // namespace

TEST_CASE("an estimate of a norm is a lower bound within a factor of three") {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  double worst = 1;
  for (const std::int64_t n : {1, 2, 3, 10, 61})
    for (int times = 0; times < 20; ++times) {
      Square a(n);
      for (double& value : a.data) value = normal(random);
      const Counted c = estimate(a);
      const double norm = one_norm(a);
      CAPTURE(n, times);
      CHECK(c.estimate <= norm * (1 + 1e-14));
      CHECK(c.products <= 20);
      CHECK(c.transposed <= 16);
      worst = std::min(worst, c.estimate / norm);
    }
  CHECK(worst >= 1. / 3);
}

TEST_CASE("the norm of a diagonal matrix or of a single column is found exactly") {
  Square diagonal(20);
  for (std::int64_t i = 0; i < 20; ++i) diagonal(i, i) = i == 13 ? -100 : 1;
  CHECK(estimate(diagonal).estimate == 100);
  Square column(20);
  for (std::int64_t i = 0; i < 20; ++i) column(i, 4) = i % 2 == 0 ? 3 : -3;
  CHECK(estimate(column).estimate == 60);
  CHECK(estimate(Square(20)).estimate == 0);
}

TEST_CASE("what the search from a vector of ones misses, random vectors find") {
  // Every row of B sums to 0, so B (1, ..., 1)^T and the gradient there are 0.
  Square a(40);
  for (std::int64_t j = 0; j < 40; ++j) a(0, j) = j % 2 == 0 ? 1 : -1;
  CHECK(estimate(a).estimate == 1);
}

TEST_CASE("the norm of a small matrix is exact") {
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {1, 2, 3, 4})
    for (int times = 0; times < 20; ++times) {
      Square a(n);
      for (double& value : a.data) value = normal(random);
      const Counted c = estimate(a);
      CHECK(c.estimate == Approx(one_norm(a)).epsilon(1e-14));
      CHECK(c.transposed == 0);
    }
}

TEST_CASE("a product that is not finite makes the norm infinite") {
  for (const double bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Square a(5);
    a(2, 3) = bad;
    CHECK(estimate(a).estimate == std::numeric_limits<double>::infinity());
  }
}

TEST_CASE("several matrices together have the estimates of each alone") {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  for (const std::int64_t n : {1, 2, 7, 40}) {
    CAPTURE(n);
    std::vector<Square> all;
    for (int times = 0; times < 9; ++times) {
      Square a(n);
      for (double& value : a.data) value = normal(random);
      all.push_back(a);
    }
    all.push_back(Square(n));  // zero
    Square diagonal(n);        // needs fewest rounds
    for (std::int64_t i = 0; i < n; ++i) diagonal(i, i) = 1;
    all.push_back(diagonal);
    Square infinite = all.front();
    infinite(n - 1, 0) = std::numeric_limits<double>::infinity();
    all.push_back(infinite);
    std::array calls{0, 0};
    std::vector<int> products(all.size());
    const auto multiplies = [&](bool transposed) {
      return [&, transposed](const std::vector<Probe>& probes) {
        ++calls.at(transposed ? 1 : 0);
        std::vector<Vector> results;
        for (const Probe& probe : probes) {
          ++products.at(probe.matrix);
          results.push_back(multiply(all[probe.matrix], probe.v, transposed));
        }
        return results;
      };
    };
    const std::vector<NormEstimate> found =
        estimate_one_norms(n, all.size(), multiplies(false), multiplies(true), 1);
    REQUIRE(found.size() == all.size());
    CHECK(calls[0] <= 5);
    CHECK(calls[1] <= 4);
    for (std::size_t m = 0; m < all.size(); ++m) {
      CAPTURE(m);
      const Counted alone = estimate(all[m]);
      CHECK(found[m].norm == alone.estimate);
      CHECK(products[m] == alone.products + alone.transposed);
      if (std::isfinite(found[m].norm))
        CHECK(sum_of_magnitudes(multiply(all[m], found[m].x, false)) == found[m].norm);
    }
    CHECK(found.back().norm == std::numeric_limits<double>::infinity());
  }
}
}  // namespace speedwell::test::norm_estimate_tests
