// Panels with partial pivoting: the search, the exchange, the elimination, and rows on their way.
#include <algorithm>
#include <limits>
#include <numeric>

#include "device/bench.hpp"
#include "panel.hpp"

using namespace lupine;
using namespace lupine::test;

namespace {

template <class T>
constexpr T not_a_number = std::numeric_limits<T>::quiet_NaN();
template <class T>
constexpr T infinity = std::numeric_limits<T>::infinity();

// What a search should find, row by row.
template <class T>
PivotCandidate plain_pivot(const DeviceMatrix<T>& a, std::int64_t column) {
  PivotCandidate best;
  for (std::int64_t i = 0; i < a.rows(); ++i) {
    const double value = std::fabs(static_cast<double>(a(i, column)));
    const double magnitude = std::isfinite(value) ? value : HUGE_VAL;
    if (magnitude > best.magnitude) best = {magnitude, i};
  }
  return best;
}

bool same(const PivotCandidate& a, const PivotCandidate& b) {
  return a.magnitude == b.magnitude && a.row == b.row;
}

// One candidate in device memory.
class Candidate {
 public:
  explicit Candidate(Bench& b) : memory_(b, 1, 1) {}
  Candidate(Bench& b, const PivotCandidate& value) : Candidate(b) {
    memory_.set([&](std::int64_t, std::int64_t) { return value; });
  }
  PivotCandidate* data() const { return memory_.data(); }
  PivotCandidate get() {
    REQUIRE(memory_.frame_intact());
    return memory_(0);
  }
  bool unchanged() { return memory_.unchanged(); }

 private:
  DeviceMatrix<PivotCandidate> memory_;
};

template <class T>
void check_search(Bench& b, DeviceMatrix<T>& column) {
  const PivotCandidate expected = plain_pivot(column, 0);
  Candidate found(b);
  b.device->find_pivot(*b.queue, column.view(), found.data());
  const PivotCandidate result = found.get();
  CAPTURE(column.rows(), expected.row, expected.magnitude, result.row, result.magnitude);
  CHECK(same(result, expected));
  CHECK(column.unchanged());
}

// Around the sizes of blocks, and more rows than all blocks together have threads.
std::vector<std::int64_t> heights() {
  std::vector<std::int64_t> all = orders;
  all.insert(all.end(), {0, 1000, 5000, 300000});
  return all;
}

// Rows of `a` and a pivot's row of their own.
template <class T>
struct Rows {
  Rows(Bench& b, std::int64_t m, std::int64_t c)
      : pivot(uniform<T>(b, 1, c)), rows(uniform<T>(b, m, c)), next(b) {}
  void eliminate(Bench& b) {
    b.device->eliminate(*b.queue, pivot.view(), rows.view(), next.data());
  }
  DeviceMatrix<T> pivot;
  DeviceMatrix<T> rows;
  Candidate next;
};

template <class T>
void check_next(Bench& b, Rows<T>& r) {
  if (r.rows.columns() < 2) {
    CHECK(r.next.unchanged());
    return;
  }
  Candidate searched(b);
  b.device->find_pivot(*b.queue, r.rows.view().block(0, 1, r.rows.rows(), 1), searched.data());
  const PivotCandidate next = r.next.get();
  CHECK(same(next, plain_pivot(r.rows, 1)));
  CHECK(same(next, searched.get()));
}

// Beside a plain loop: one rounding for l, two for what is taken away.
template <class T>
void check_elimination(Bench& b, std::int64_t m, std::int64_t c) {
  CAPTURE(m, c);
  Rows<T> r(b, m, c);
  const Plain before = r.rows.plain();
  const Plain p = r.pivot.plain();
  r.eliminate(b);
  CHECK(r.rows.frame_intact());
  CHECK(r.pivot.unchanged());
  const Plain after = r.rows.plain();
  const auto l = [&](std::int64_t i) { return before(i, 0) / p(0, 0); };
  CHECK(worst_share(
            m, c,
            [&](std::int64_t i, std::int64_t j) {
              return after(i, j) - (j == 0 ? l(i) : before(i, j) - l(i) * p(0, j));
            },
            [&](std::int64_t i, std::int64_t j) {
              return 2 * unit_of<T> *
                     (j == 0 ? std::fabs(l(i))
                             : std::fabs(before(i, j)) + 2 * std::fabs(l(i) * p(0, j)));
            }) <= 1);
  check_next(b, r);
}

using Shape = std::pair<std::int64_t, std::int64_t>;

template <class T>
void check_exchange(Bench& b, const Shape& shape, const PivotCandidate& candidate) {
  const auto& [m, w] = shape;
  constexpr std::int64_t first = 5000000000;
  CAPTURE(m, w, candidate.row, candidate.magnitude);
  DeviceMatrix<T> rows = uniform<T>(b, m, w);
  const Plain before = rows.plain();
  Candidate found(b, candidate);
  DeviceMatrix<std::int64_t> pivot(b, 1, 1);
  Status status(b);
  b.device->take_pivot(*b.queue, rows.view(), first, found.data(), pivot.data(), status.data());
  CHECK(rows.frame_intact());
  CHECK(pivot.frame_intact());
  CHECK(found.unchanged());
  CHECK(pivot(0) == first + candidate.row);
  const bool good = candidate.magnitude > 0 && std::isfinite(candidate.magnitude);
  CHECK(status.get().bad_pivot == (good ? -1 : first));
  CHECK(status.get().nonfinite == 0);
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < w; ++j)
    for (std::int64_t i = 0; i < m; ++i) {
      const std::int64_t source = i == 0 ? candidate.row : i == candidate.row ? 0 : i;
      wrong += static_cast<double>(rows(i, j)) != before(source, j);
    }
  CHECK(wrong == 0);
}

// |L X - B| <= n u |L| |X|, of a triangle around which nothing may be read.
template <class T>
void check_triangle(Bench& b, std::int64_t n, std::int64_t m) {
  CAPTURE(n, m);
  DeviceMatrix<T> l = plain_factors<T>(b, n);
  const Square lower = lower_of(square(l));
  l.set([&](std::int64_t i, std::int64_t j) { return i > j ? l(i, j) : not_a_number<T>; });
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

using Indices = std::vector<std::int64_t>;

// Different rows of so many, in any order.
Indices some_rows(Bench& b, std::int64_t rows, std::int64_t count) {
  Indices all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  std::shuffle(all.begin(), all.end(), b.random);
  all.resize(static_cast<std::size_t>(count));
  return all;
}

template <class T>
void check_moves(Bench& b, std::int64_t rows, std::int64_t columns, const Indices& from,
                 const Indices& to) {
  CAPTURE(rows, columns, from.size());
  DeviceMatrix<T> a = uniform<T>(b, rows, columns);
  auto device_from = vector_of(b, from);
  auto device_to = vector_of(b, to);
  Plain expected = a.plain();
  const Plain before = expected;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < from.size(); ++i) expected(to[i], j) = before(from[i], j);
  b.device->permute_rows(*b.queue, device_from.data(), device_to.data(), std::ssize(from),
                         a.view());
  CHECK(a.frame_intact());
  CHECK(device_from.unchanged());
  CHECK(device_to.unchanged());
  CHECK((a.plain().data == expected.data));
}

// The pivots of a panel one after the other: row i and a later one change places.
void swaps(Bench& b, std::int64_t rows, std::int64_t count, Indices& from, Indices& to) {
  Indices at(static_cast<std::size_t>(rows));
  std::iota(at.begin(), at.end(), 0);
  for (std::int64_t i = 0; i < count; ++i)
    std::swap(at[static_cast<std::size_t>(i)], at[static_cast<std::size_t>(i + b.below(rows - i))]);
  for (std::int64_t i = 0; i < rows; ++i)
    if (at[static_cast<std::size_t>(i)] != i) {
      to.push_back(i);
      from.push_back(at[static_cast<std::size_t>(i)]);
    }
}

// A panel and what its factorization gives, in device memory.
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

// L\U of plain partial pivoting; its pivots are appended.
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

// Rows in any order of L U, |l_ij| <= 0.8, so that no rounding can choose another pivot.
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

// Pivots as without blocks; |P A - L U| <= w u |L| |U|; |l_ij| <= 1; factors near the plain ones.
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
  CHECK(apart <= 100 * unit);  // the triangles' condition is moderate
}

}  // namespace

TEMPLATE_TEST_CASE("find_pivot: the first of the largest", "[pivot]", float, double) {
  Bench b;
  for (const std::int64_t m : heights()) {
    DeviceMatrix<TestType> column = uniform<TestType>(b, m, 1);
    check_search(b, column);
    if (m > 0) {
      column(m - 1) = 2;
      column.put();
      check_search(b, column);
    }
    // Few values, so that many are largest.
    column.set(
        [&](std::int64_t, std::int64_t) { return static_cast<TestType>(b.below(3) - 1) / 2; });
    check_search(b, column);
  }
}

TEMPLATE_TEST_CASE("find_pivot: zeros, equal rows, small and large numbers", "[pivot]", float,
                   double) {
  Bench b;
  const TestType tiny = std::numeric_limits<TestType>::denorm_min();
  const TestType huge = std::numeric_limits<TestType>::max();
  for (const std::int64_t m : {1, 2, 255, 256, 700, 1000})
    for (const TestType value : {TestType{0}, TestType{-0.0f}, TestType{1}, -tiny, -huge}) {
      CAPTURE(m, value);
      DeviceMatrix<TestType> column(b, m, 1);
      column.set([&](std::int64_t, std::int64_t) { return value; });
      check_search(b, column);
      column(m / 2) = 2 * tiny;
      column.put();
      check_search(b, column);
    }
}

TEMPLATE_TEST_CASE("find_pivot: Inf and NaN are equal, and larger than any number", "[pivot]",
                   float, double) {
  Bench b;
  const auto nan = not_a_number<TestType>;
  const auto inf = infinity<TestType>;
  for (const std::int64_t m : {1, 33, 256, 700, 3000})
    for (const auto& [one, other] : std::vector<std::pair<TestType, TestType>>{
             {nan, inf}, {inf, nan}, {-nan, -inf}, {-inf, 5}, {nan, 7}, {nan, nan}})
      for (int round = 0; round < 5; ++round) {
        CAPTURE(m, one, other, round);
        DeviceMatrix<TestType> column = uniform<TestType>(b, m, 1);
        const std::int64_t at = b.below(m);
        column(b.below(m)) = other;
        column(at) = one;
        column.put();
        check_search(b, column);
      }
}

TEST_CASE("find_pivot: magnitudes of FP64 beyond FP32", "[pivot]") {
  Bench b;
  Doubles column = uniform_vector(b, 500, 1e-300);
  check_search(b, column);
  column.set([](std::int64_t i, std::int64_t) { return i == 77 ? -1e300 : i == 300 ? 1e299 : 1; });
  check_search(b, column);
  column.set([](std::int64_t i, std::int64_t) { return i == 77 ? 1 + 0x1p-52 : 1; });
  check_search(b, column);
}

TEMPLATE_TEST_CASE("take_pivot exchanges two rows and notes which", "[pivot]", float, double) {
  Bench b;
  for (const Shape& shape : std::vector<Shape>{
           {1, 1}, {1, 5}, {2, 1}, {2, 3}, {17, 33}, {64, 700}, {700, 64}, {300, 2048}, {5, 0}}) {
    const std::int64_t m = shape.first;
    for (const std::int64_t row : {std::int64_t{0}, m - 1, b.below(m)})
      check_exchange<TestType>(b, shape, {0.25, row});
  }
  for (const double magnitude : {0.0, HUGE_VAL, 1e-300, 1e300, 0x1p-1074})
    for (const std::int64_t row : {0, 3}) check_exchange<TestType>(b, {9, 5}, {magnitude, row});
}

TEMPLATE_TEST_CASE("take_pivot: only the first bad pivot is named", "[pivot]", float, double) {
  Bench b;
  DeviceMatrix<TestType> rows = uniform<TestType>(b, 8, 4);
  DeviceMatrix<std::int64_t> pivot(b, 1, 1);
  Status status(b);
  for (const auto& [first, magnitude, expected] :
       std::vector<std::tuple<std::int64_t, double, std::int64_t>>{
           {10, 1.0, -1}, {11, HUGE_VAL, 11}, {12, 0.0, 11}, {3, 0.0, 11}}) {
    Candidate found(b, {magnitude, 2});
    b.device->take_pivot(*b.queue, rows.view(), first, found.data(), pivot.data(), status.data());
    CHECK(status.get().bad_pivot == expected);
  }
}

TEMPLATE_TEST_CASE("eliminate: beside a plain loop, and the next pivot", "[pivot]", float, double) {
  Bench b;
  for (const std::int64_t c : {1, 2, 3, 7, 8, 9, 16, 17, 64, 65, 100}) {
    for (const std::int64_t m : {0, 1, 2, 31, 255, 256, 257, 700})
      check_elimination<TestType>(b, m, c);
    if (c == 8) check_elimination<TestType>(b, 5000, c);
  }
  for (const std::int64_t c : {2, 9}) check_elimination<TestType>(b, 263000, c);
}

TEMPLATE_TEST_CASE("eliminate: equal candidates, Inf and NaN", "[pivot]", float, double) {
  Bench b;
  for (const std::int64_t m : {1, 40, 300, 1000})
    for (const TestType value : {TestType{1}, not_a_number<TestType>, -infinity<TestType>}) {
      CAPTURE(m, value);
      Rows<TestType> r(b, m, 5);
      r.pivot.set([](std::int64_t, std::int64_t j) { return static_cast<TestType>(j + 1); });
      // l_i = 1, and what is left of column 1 is alike in all rows.
      r.rows.set([](std::int64_t, std::int64_t j) { return static_cast<TestType>(1 + 3 * j); });
      const std::int64_t at = b.below(m);
      if (!(value == 1)) r.rows(at, 1) = value;
      r.rows.put();
      r.eliminate(b);
      CHECK(r.rows.frame_intact());
      check_next(b, r);
      const PivotCandidate next = r.next.get();
      CHECK(next.row == (value == 1 ? 0 : at));
      CHECK(next.magnitude == (value == 1 ? 2 : HUGE_VAL));
    }
}

TEMPLATE_TEST_CASE("eliminate: a pivot that is zero leaves the rows, and finds the next", "[pivot]",
                   float, double) {
  Bench b;
  for (const std::int64_t c : {1, 2, 20})
    for (const std::int64_t m : {0, 1, 300})
      for (const TestType zero : {TestType{0}, TestType{-0.0f}}) {
        CAPTURE(m, c);
        Rows<TestType> r(b, m, c);
        r.pivot(0) = zero;
        r.pivot.put();
        r.eliminate(b);
        CHECK(r.rows.unchanged());
        check_next(b, r);
      }
}

TEMPLATE_TEST_CASE("solve_unit_lower reads the triangle and nothing else", "[pivot]", float,
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

TEMPLATE_TEST_CASE("permute_rows: every kind of permutation", "[rows]", float, double) {
  Bench b;
  constexpr std::int64_t rows = 10000;
  // 32 KiB hold 4096 FP64 or 8192 FP32 entries of a column.
  for (const std::int64_t count : {0, 1, 2, 5, 64, 511, 600, 4096, 4097, 8192, 8193}) {
    const std::int64_t columns = count > 600 ? 3 : 1 + b.below(60);
    const Indices some = some_rows(b, rows, count);
    const Indices others = some_rows(b, rows, count);
    check_moves<TestType>(b, rows, columns, some, some);
    check_moves<TestType>(b, rows, columns, some, Indices(some.rbegin(), some.rend()));
    Indices cycle = some;
    if (!cycle.empty()) std::rotate(cycle.begin(), cycle.begin() + 1, cycle.end());
    check_moves<TestType>(b, rows, columns, some, cycle);
    check_moves<TestType>(b, rows, columns, others, some);  // not a permutation
    check_moves<TestType>(b, rows, columns, Indices(some.size(), 7), some);
  }
  const Indices all = some_rows(b, rows, rows);
  for (const std::int64_t columns : {0, 230})
    check_moves<TestType>(b, rows, columns, all, Indices(all.rbegin(), all.rend()));
  const Indices three = some_rows(b, rows, 3);
  for (const std::int64_t columns : {0, 1, 15, 16, 17, 300})
    check_moves<TestType>(b, rows, columns, three, Indices(three.rbegin(), three.rend()));
}

TEMPLATE_TEST_CASE("permute_rows: the pivots of a panel", "[rows]", float, double) {
  Bench b;
  for (const auto& [rows, count] :
       std::vector<Shape>{{1, 1}, {64, 64}, {300, 64}, {700, 512}, {6000, 2048}}) {
    Indices from;
    Indices to;
    swaps(b, rows, count, from, to);
    check_moves<TestType>(b, rows, 37, from, to);
  }
}

TEMPLATE_TEST_CASE("gather_rows and scatter_rows undo each other", "[rows]", float, double) {
  Bench b;
  for (const auto& [rows, columns] : std::vector<Shape>{{1, 1}, {300, 33}, {5000, 3}, {40, 600}})
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, rows / 2, rows}) {
      CAPTURE(rows, columns, count);
      DeviceMatrix<TestType> a = uniform<TestType>(b, rows, columns);
      DeviceMatrix<TestType> taken(b, count, columns);
      const Indices chosen = some_rows(b, rows, count);
      auto indices = vector_of(b, chosen);
      b.device->gather_rows(*b.queue, indices.data(), a.view(), taken.view());
      CHECK(taken.frame_intact());
      CHECK(a.unchanged());
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j < columns; ++j)
        for (std::int64_t i = 0; i < count; ++i)
          wrong += taken(i, j) != a(chosen[static_cast<std::size_t>(i)], j);
      CHECK(wrong == 0);

      const Plain before = a.plain();
      a.set([](std::int64_t, std::int64_t) { return TestType{9}; });
      b.device->scatter_rows(*b.queue, indices.data(), taken.view(), a.view());
      CHECK(a.frame_intact());
      CHECK(indices.unchanged());
      Plain expected(rows, columns);
      std::fill(expected.data.begin(), expected.data.end(), 9);
      for (std::int64_t j = 0; j < columns; ++j)
        for (const std::int64_t row : chosen) expected(row, j) = before(row, j);
      CHECK((a.plain().data == expected.data));
    }
}

TEMPLATE_TEST_CASE("gather_rows may take a row twice; nothing is a matrix too", "[rows]", float,
                   double) {
  Bench b;
  DeviceMatrix<TestType> a = uniform<TestType>(b, 9, 4);
  DeviceMatrix<TestType> taken(b, 3, 4);
  auto indices = vector_of<std::int64_t>(b, {8, 2, 8});
  b.device->gather_rows(*b.queue, indices.data(), a.view(), taken.view());
  CHECK(taken.frame_intact());
  for (std::int64_t j = 0; j < 4; ++j) {
    CHECK(taken(0, j) == a(8, j));
    CHECK(taken(1, j) == a(2, j));
    CHECK(taken(2, j) == a(8, j));
  }
  const MatrixView<TestType> no_columns{a.data(), 3, 0, 9};
  b.device->gather_rows(*b.queue, indices.data(), a.view().block(0, 0, 9, 0), no_columns);
  b.device->scatter_rows(*b.queue, indices.data(), no_columns, a.view().block(0, 0, 9, 0));
  b.device->permute_rows(*b.queue, indices.data(), indices.data(), 3, no_columns);
  CHECK(a.unchanged());
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
