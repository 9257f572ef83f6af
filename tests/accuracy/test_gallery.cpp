// SPDX-License-Identifier: BSD-3-Clause
// Tests of what other tests compare the solver with: the gallery, the references in 113 bits, and
// LAPACK's results.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "gallery.hpp"
#include "lapack.hpp"
#include "quad.hpp"

namespace speedwell::test::gallery_tests {
namespace {

double condition(const Square& a) {
  return speedwell::test::condition(a, Inverse(a), Scales(a.n));
}

/// Whether another rank does the checks: the references are the same on every rank.
bool elsewhere() {
  return Communicator::duplicate(comm_world()).rank() != 0;
}

/// The largest |X A - I| / (|X| |A|) in column j.
double inverse_error(const Inverse& inverse, const Square& a, std::int64_t j) {
  const auto product = inverse.times(column(a, j));
  double worst = 0;
  for (std::int64_t i = 0; i < a.n; ++i) {
    Quad scale = 0;
    for (std::int64_t k = 0; k < a.n; ++k) scale += magnitude(inverse(i, k) * a(k, j));
    const Quad error = magnitude(product[static_cast<std::size_t>(i)] - (i == j));
    if (error > 0) worst = std::max(worst, static_cast<double>(error / scale));
  }
  return worst;
}

}  // namespace

TEST_CASE("condition numbers and inverses agree with known ones", "[gallery]") {
  CHECK(condition(matrix_of(2, [](auto i, auto j) { return double(2 * i + j + 1); })) ==
        Approx(21).epsilon(1e-15));
  CHECK(condition(hilbert(4)) == Approx(28375).epsilon(1e-10));
  CHECK(condition(cosines(97)) <= 97);
  const Square singular(2);
  CHECK(std::isnan(condition(singular)));
  const double s = std::sin(1.2);
  const double c = std::cos(1.2);
  const Inverse frank_inverse(frank(16));
  const Inverse kahan_inverse(kahan(61, 1.2));
  for (std::int64_t j = 0; j < 16; ++j)
    for (std::int64_t i = 0; i < 16; ++i) {
      const Quad value = frank_inverse(i, j);
      CHECK(magnitude(value - std::round(static_cast<double>(value))) < 1e-6);
      const double above = c * std::pow(1 + c, double(j - i - 1));
      CHECK(static_cast<double>(kahan_inverse(i, j)) * std::pow(s, double(j)) ==
            Approx(i > j    ? 0
                   : i == j ? 1
                            : above)
                .epsilon(1e-12));
    }
}

TEST_CASE("singular values are those asked for", "[gallery]") {
  for (const double kappa : {1.0, 1e8, 1e16}) {
    const auto wanted = geometric(61, kappa);
    const auto values = singular_values(with_singular_values(wanted, 4));
    for (std::size_t i = 0; i < wanted.size(); ++i)
      CHECK(std::fabs(values[i] - wanted[i]) <= 61 * eps);
  }
  for (const double value : singular_values(cosines(97))) CHECK(value == Approx(1).epsilon(1e-14));
}

TEST_CASE("the growth in elimination agrees with the known one", "[gallery]") {
  const Square a = wilkinson_growth(61);
  CHECK(dgesv(a, Plain(61, 1)).lu(60, 60) == 0x1p60);
  CHECK(largest(dgesv(random_growth(40, 6), Plain(40, 1)).lu.data) > 0.99 * std::pow(1.9, 39));
}

TEST_CASE("errors of x agree with their definition", "[gallery]") {
  const Square a = matrix_of(2, [](auto i, auto j) { return double(2 * i + j + 1); });
  const std::vector<double> b{5, 12};
  const BackwardErrors errors = backward_errors(a, b, std::vector<double>{1, 2});
  CHECK(errors.normwise == 1.0 / 26);
  CHECK(errors.componentwise == 1.0 / 23);
  CHECK(errors.hpl == 0x1p52 / 26);
  CHECK(backward_errors(Square(2), Plain(2, 1).data, Plain(2, 1).data).componentwise == 0);
  CHECK(backward_errors(Square(2), b, b).componentwise == 1);
  CHECK(std::isnan(backward_errors(a, b, std::vector<double>{NAN, 1}).normwise));
  CHECK(std::isnan(backward_errors(a, b, std::vector<double>{1, HUGE_VAL}).componentwise));
  CHECK(forward_error(std::vector<double>{1, 2}, {1, 4}) == 0.5);
  Scales scales(2);
  scales.row = {3, -2};
  scales.column = {-1, 4};
  Square scaled = a;
  for (std::int64_t i = 0; i < 2; ++i)
    for (std::int64_t j = 0; j < 2; ++j)
      scaled(i, j) =
          std::ldexp(a(i, j), scales.row[std::size_t(i)] + scales.column[std::size_t(j)]);
  CHECK(speedwell::test::condition(a, Inverse(a), scales) == condition(scaled));
}

TEST_CASE("inverses and LAPACK's results are accurate for all of the gallery", "[gallery]") {
  if (elsewhere()) return;
  for (const Example& e : gallery()) {
    const Inverse inverse(e.a);
    const bool grows = e.name.find("growth") != std::string::npos;
    for (const std::int64_t j : {std::int64_t{0}, e.a.n / 2, e.a.n - 1}) {
      const double error = inverse_error(inverse, e.a, j);
      CAPTURE(e.name, e.a.n, j, error / 0x1p-113);
      CHECK(error <= (grows ? 1e-12 : 1e-22));
    }
    const Lapack simple = dgesv(e.a, e.b);
    const LapackExpert expert = dgesvx(e.a, e.b);
    REQUIRE(simple.info == 0);
    const double unit = static_cast<double>(e.a.n + 1) * eps;
    for (std::int64_t k = 0; k < e.b.columns; ++k) {
      const auto at = static_cast<std::size_t>(k);
      CAPTURE(e.name, e.a.n, k, expert.info, expert.berr[at], expert.ferr[at]);
      const auto b = column(e.b, k);
      const auto x = column(expert.x, k);
      const BackwardErrors errors = backward_errors(e.a, b, column(simple.x, k));
      CHECK(errors.normwise <= unit / expert.pivot_growth);
      const double error = forward_error(x, inverse.times(b));
      CHECK(error <= forward_bound(e.a, inverse, b, x));
      // dgesvx gives errors only where it does not find A singular. Its guard against underflow
      // makes berr wrong for a tiny x.
      if (expert.info != 0 || largest({x.begin(), x.end()}) < 1e-290) continue;
      CHECK(std::fabs(backward_errors(e.a, b, x).componentwise - expert.berr[at]) <= unit);
      CHECK(error <= expert.ferr[at]);
      CHECK(expert.ferr[at] >= forward_bound(e.a, inverse, b, x) / 10);
    }
  }
}

TEST_CASE("dgesv names the first zero pivot, whatever the scales", "[gallery]") {
  if (elsewhere()) return;
  for (const SingularExample& e : singular_gallery()) {
    CAPTURE(e.name, e.a.n, e.pivot);
    for (const int most : {0, 20}) {
      Random random(27);
      Square a = e.a;
      std::vector<int> row;
      for (std::int64_t i = 0; i < a.n; ++i) row.push_back(int(random.below(most + 1)));
      for (std::int64_t j = 0; j < a.n; ++j) {
        const int c = int(random.below(most + 1));
        for (std::int64_t i = 0; i < a.n; ++i)
          a(i, j) = std::ldexp(a(i, j), row[static_cast<std::size_t>(i)] - c);
      }
      CHECK(dgesv(a, Plain(a.n, 1)).info == e.pivot + 1);
    }
  }
}
}  // namespace speedwell::test::gallery_tests
