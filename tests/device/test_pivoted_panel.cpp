// SPDX-License-Identifier: BSD-3-Clause
// Panels with partial pivoting: the solve with a triangle, the product, and all operations
// together.
#include "device/pivot.hpp"
#include "panel.hpp"

namespace speedwell::test::pivoted_panel_tests {
namespace {

// Checks |L X - B| <= n u |L| |X|. The solve must take nothing from outside of the triangle, but
// may multiply it by zero, as a library of a GPU may: so it is large there, and finite.
template <class T>
void check_triangle(Bench& b, std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  DeviceMatrix<T> l = plain_factors<T>(b, n);
  const Square lower = lower_of(square(l));
  l.set([&](std::int64_t i, std::int64_t j) { return i > j ? l(i, j) : T(1e30); });
  DeviceMatrix<T> x = uniform<T>(b, n, m);
  const Plain before = x.plain();
  b.device->solve_unit_lower(*b.queue, l.view(), x.view());
  CHECK(x.frame_intact());
  CHECK(l.unchanged());
  const Plain lx = product(lower, x.plain());
  const Plain size = product(magnitudes(lower), magnitudes(x.plain()));
  CHECK(worst_share(
            n, m, [&](std::int64_t i, std::int64_t j) { return lx(i, j) - before(i, j); },
            [&](std::int64_t i, std::int64_t j) {
              return 2 * unit_of<T> * static_cast<double>(n + 10) * size(i, j);
            }) <= 1);
}

template <class T>
void check_difference(Bench& b, std::int64_t m, std::int64_t n, std::int64_t k) {
  CAPTURE(m, n, k);
  DeviceMatrix<T> left = uniform<T>(b, m, k);
  DeviceMatrix<T> right = uniform<T>(b, k, n);
  DeviceMatrix<T> c = uniform<T>(b, m, n);
  const Plain before = c.plain();
  b.device->subtract(*b.queue, left.view(), right.view(), c.view());
  CHECK(c.frame_intact());
  CHECK(left.unchanged());
  CHECK(right.unchanged());
  const Plain sum = product(left.plain(), right.plain());
  const Plain size = product(magnitudes(left.plain()), magnitudes(right.plain()));
  CHECK(worst_share(
            m, n,
            [&](std::int64_t i, std::int64_t j) {
              return static_cast<double>(c(i, j)) - (before(i, j) - sum(i, j));
            },
            [&](std::int64_t i, std::int64_t j) {
              return 2 * unit_of<T> * static_cast<double>(k + 4) *
                     (std::fabs(before(i, j)) + size(i, j));
            }) <= 1);
}

// A panel and the results of its factorization in device memory.
template <class T>
struct Panel {
  Panel(Bench& bench, std::int64_t m, std::int64_t w)
      : b(bench), a(b, m, w), candidate(b), pivots(b, w, 1), status(b) {}

  void factor(std::int64_t leaf) {
    factor_panel(*b.device, *b.queue, a.view(), 0, a.columns(), leaf,
                 {candidate.data(), pivots.data(), status.data()});
  }

  Bench& b;
  DeviceMatrix<T> a;
  Candidate candidate;
  DeviceMatrix<std::int64_t> pivots;
  Status status;
};

// L\U by plain partial pivoting; appends its pivots to `pivots`.
Plain plain_lu(Plain a, Indices& pivots) {
  for (std::int64_t k = 0; k < a.columns; ++k) {
    std::int64_t p = k;
    for (std::int64_t i = k + 1; i < a.rows; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(p, k))) p = i;
    pivots.push_back(p);
    for (std::int64_t j = 0; j < a.columns; ++j) std::swap(a(k, j), a(p, j));
    for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, k) /= a(k, k);
    for (std::int64_t j = k + 1; j < a.columns; ++j)
      for (std::int64_t i = k + 1; i < a.rows; ++i) a(i, j) -= a(i, k) * a(k, j);
  }
  return a;
}

// The rows of a product L U in random order. |l_ij| <= 0.8, so that rounding cannot change pivots.
Plain with_clear_pivots(Bench& b, std::int64_t m, std::int64_t w) {
  std::uniform_real_distribution<double> entry(-1, 1);
  Plain l(m, w);
  Plain u(w, w);
  const double small = std::min(0.8, 2 / std::sqrt(static_cast<double>(w)));
  for (std::int64_t j = 0; j < w; ++j) {
    for (std::int64_t i = j + 1; i < m; ++i) l(i, j) = small * entry(b.random);
    l(j, j) = 1;
    for (std::int64_t i = 0; i < j; ++i) u(i, j) = entry(b.random);
    u(j, j) = b.below(2) ? 1.5 : -1.5;
  }
  const Plain a = product(l, u);
  Plain mixed(m, w);
  const Indices order = some_rows(b, m, m);
  for (std::int64_t j = 0; j < w; ++j)
    for (std::int64_t i = 0; i < m; ++i) mixed(i, j) = a(order[static_cast<std::size_t>(i)], j);
  return mixed;
}

Plain lower_part(const Plain& lu) {
  Plain l(lu.rows, lu.columns);
  for (std::int64_t j = 0; j < lu.columns; ++j) {
    l(j, j) = 1;
    for (std::int64_t i = j + 1; i < lu.rows; ++i) l(i, j) = lu(i, j);
  }
  return l;
}
Plain upper_part(const Plain& lu) {
  Plain u(lu.columns, lu.columns);
  for (std::int64_t j = 0; j < lu.columns; ++j)
    for (std::int64_t i = 0; i <= j; ++i) u(i, j) = lu(i, j);
  return u;
}

// Checks that pivots equal those of plain elimination, |P A - L U| <= w u |L| |U|, |l_ij| <= 1, and
// that the factors are close to those of plain elimination.
template <class T>
void check_panel(Bench& b, std::int64_t m, std::int64_t w, std::int64_t leaf) {
  CAPTURE(m, w, leaf);
  Panel<T> panel(b, m, w);
  const Plain values = with_clear_pivots(b, m, w);
  panel.a.set([&](std::int64_t i, std::int64_t j) { return static_cast<T>(values(i, j)); });
  Plain permuted = panel.a.plain();
  panel.factor(leaf);
  CHECK(panel.a.frame_intact());
  CHECK(panel.pivots.frame_intact());
  CHECK(panel.status.get().bad_pivot == -1);
  Indices pivots;
  const Plain expected = plain_lu(permuted, pivots);
  std::int64_t wrong = 0;
  for (std::int64_t k = 0; k < w; ++k) {
    wrong += panel.pivots(k) != pivots[static_cast<std::size_t>(k)];
    for (std::int64_t j = 0; j < w; ++j)
      std::swap(permuted(k, j), permuted(pivots[static_cast<std::size_t>(k)], j));
  }
  REQUIRE(wrong == 0);
  const Plain lu = panel.a.plain();
  const Plain l = lower_part(lu);
  const Plain u = upper_part(lu);
  const Plain back = product(l, u);
  const Plain size = product(magnitudes(l), magnitudes(u));
  const double unit = 2 * unit_of<T> * static_cast<double>(w + 10);
  CHECK(worst_share(
            m, w, [&](std::int64_t i, std::int64_t j) { return back(i, j) - permuted(i, j); },
            [&](std::int64_t i, std::int64_t j) { return unit * size(i, j); }) <= 1);
  double most = 0;
  double apart = 0;
  for (std::size_t i = 0; i < l.data.size(); ++i) {
    most = std::max(most, std::fabs(l.data[i]));
    apart = std::max(apart, std::fabs(lu.data[i] - expected.data[i]));
  }
  CHECK(most <= 1);
  CHECK(apart <= 100 * unit);  // the condition number of the triangles is moderate
}

}  // namespace

TEMPLATE_TEST_CASE("solve_unit_lower takes the triangle and nothing else", "[pivot]", float,
                   double) {
  Bench b;
  for (const std::int64_t n : orders)
    for (const std::int64_t m : {1, 65}) check_triangle<TestType>(b, n, m);
  for (const Shape& shape : std::vector<Shape>{{0, 0}, {0, 4}, {4, 0}, {8, 700}, {129, 255}})
    check_triangle<TestType>(b, shape.first, shape.second);
}

TEMPLATE_TEST_CASE("subtract: C - A B", "[pivot]", float, double) {
  Bench b;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 300, 16},
                                                                        {300, 1, 17},
                                                                        {31, 33, 32},
                                                                        {700, 8, 8},
                                                                        {65, 129, 64},
                                                                        {513, 255, 129},
                                                                        {2000, 64, 64},
                                                                        {0, 0, 0},
                                                                        {0, 5, 3},
                                                                        {5, 0, 3},
                                                                        {6, 7, 0}})
    check_difference<TestType>(b, m, n, k);
}

TEMPLATE_TEST_CASE("a panel of all operations: plain partial pivoting", "[pivot]", float, double) {
  Bench b;
  for (const auto& [m, w] : std::vector<Shape>{
           {1, 1}, {8, 8}, {9, 9}, {64, 64}, {65, 17}, {100, 64}, {700, 100}, {1500, 128}})
    for (const std::int64_t leaf : {8, 5}) check_panel<TestType>(b, m, w, leaf);
}

TEMPLATE_TEST_CASE("a panel of all operations: random entries", "[pivot]", float, double) {
  Bench b;
  Panel<TestType> panel(b, 400, 60);
  panel.a.set([&](std::int64_t, std::int64_t) {
    return static_cast<TestType>(b.below(2001) - 1000) / 1024;
  });
  Plain permuted = panel.a.plain();
  panel.factor(8);
  CHECK(panel.a.frame_intact());
  CHECK(panel.pivots.frame_intact());
  CHECK(panel.status.get().bad_pivot == -1);
  for (std::int64_t k = 0; k < 60; ++k) {
    REQUIRE(panel.pivots(k) >= k);
    REQUIRE(panel.pivots(k) < 400);
    for (std::int64_t j = 0; j < 60; ++j) std::swap(permuted(k, j), permuted(panel.pivots(k), j));
  }
  const Plain l = lower_part(panel.a.plain());
  const Plain u = upper_part(panel.a.plain());
  const Plain back = product(l, u);
  const Plain size = product(magnitudes(l), magnitudes(u));
  CHECK(worst_share(
            400, 60, [&](std::int64_t i, std::int64_t j) { return back(i, j) - permuted(i, j); },
            [&](std::int64_t i, std::int64_t j) { return 140 * unit_of<TestType> * size(i, j); }) <=
        1);
  for (const double value : l.data) REQUIRE(std::fabs(value) <= 1);
}

TEMPLATE_TEST_CASE("a panel without a usable pivot names the first column", "[pivot]", float,
                   double) {
  Bench b;
  for (const TestType value : {TestType{0}, not_a_number<TestType>, infinity<TestType>}) {
    CAPTURE(value);
    Panel<TestType> panel(b, 300, 24);
    const Plain values = with_clear_pivots(b, 300, 24);
    panel.a.set([&](std::int64_t i, std::int64_t j) {
      const bool bad = j == 13 && (value == 0 || i == 200);
      return bad ? value : static_cast<TestType>(values(i, j));
    });
    panel.factor(8);
    CHECK(panel.a.frame_intact());
    CHECK(panel.status.get().bad_pivot == 13);
  }
}
}  // namespace speedwell::test::pivoted_panel_tests
