// SPDX-License-Identifier: BSD-3-Clause
// The search for a pivot, the exchange of rows, and the elimination of a column.
#include "device/pivot.hpp"

namespace speedwell::test::pivot_tests {
namespace {

// Numbers of rows around the sizes of thread blocks, and one above the number of all threads.
std::vector<std::int64_t> heights() {
  std::vector<std::int64_t> all = orders;
  all.insert(all.end(), {0, 1000, 5000, 300000});
  return all;
}

// Rows to eliminate, and the pivot's row in memory of its own.
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

// Compares with a plain loop: l has one rounding, the subtraction of a product has two.
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
  b.device->take_pivot(*b.queue, rows.view(), first, found.data(), {}, pivot.data(), status.data());
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
    // The column has few different values, so that many entries are the largest.
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

TEMPLATE_TEST_CASE("take_pivot exchanges two rows and records their indices", "[pivot]", float,
                   double) {
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
    b.device->take_pivot(*b.queue, rows.view(), first, found.data(), {}, pivot.data(),
                         status.data());
    CHECK(status.get().bad_pivot == expected);
  }
}

TEMPLATE_TEST_CASE("eliminate: agrees with a plain loop and finds the next pivot", "[pivot]", float,
                   double) {
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
      // All l_i are 1, so elimination makes column 1 equal in all rows.
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

TEMPLATE_TEST_CASE("eliminate: a zero pivot changes no row, and the next one is found", "[pivot]",
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

namespace {

// Ranks of a process column whose panels have 2 shared rows and 3 rows of their own, in blocks of
// 2 rows; the panel begins at row 4. All rows of a rank hold their row of the whole matrix, plus
// j / 8 in column j. `found` is what each rank has found.
template <class T>
void check_offers(Bench& b, const std::vector<PivotCandidate>& found, std::int64_t pivot,
                  int owner) {
  constexpr std::int64_t begin = 4;
  constexpr std::int64_t shared = 2;
  constexpr std::int64_t w = 5;
  const int ranks = static_cast<int>(found.size());
  const auto global = [&](int rank, std::int64_t i) {
    const Distribution rows(1000, 2, ranks, rank);
    return i < shared ? begin + i
                      : rows.global(rows.local_begin({begin + shared}) + (i - shared)).value;
  };
  const auto value = [](std::int64_t row, std::int64_t j) {
    return static_cast<double>(row) + static_cast<double>(j) / 8;
  };
  std::vector<DeviceMatrix<T>> panels;
  const std::int64_t each = PivotOffers::bytes(ConstAnyMatrix{precision_of<T>, nullptr, 1, w, 1});
  const Buffer offers = b.device->allocate(ranks * each);
  for (int rank = 0; rank < ranks; ++rank) {
    const Distribution rows(1000, 2, ranks, rank);
    panels.emplace_back(b, 5, w);
    panels.back().set(
        [&](std::int64_t i, std::int64_t j) { return static_cast<T>(value(global(rank, i), j)); });
    Candidate mine(b, found[static_cast<std::size_t>(rank)]);
    b.device->offer_pivot(*b.queue, panels.back().view(),
                          {begin, shared, rows.local_begin({begin + shared}), &rows}, mine.data(),
                          offers.data() + rank * each);
    b.queue->synchronize();
  }
  for (int rank = 0; rank < ranks; ++rank) {
    CAPTURE(rank, pivot, owner);
    auto& panel = panels[static_cast<std::size_t>(rank)];
    Candidate mine(b, found[static_cast<std::size_t>(rank)]);
    DeviceMatrix<std::int64_t> taken(b, 1, 1);
    Status status(b);
    b.device->take_pivot(*b.queue, panel.view(), begin, mine.data(),
                         {offers.data(), ranks, rank, shared}, taken.data(), status.data());
    CHECK(taken.frame_intact());
    CHECK(taken(0) == pivot);
    CHECK(panel.frame_intact());
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 5; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        const bool place = global(rank, i) == pivot && (i < shared || rank == owner);
        const std::int64_t row = i == 0 ? pivot : place ? begin : global(rank, i);
        wrong += static_cast<double>(panel(i, j)) != value(row, j);
      }
    CHECK(wrong == 0);
  }
}

}  // namespace

TEMPLATE_TEST_CASE("offered pivots: the largest, of these the lowest row, on every rank", "[pivot]",
                   float, double) {
  Bench b;
  // Rows: shared 4, 5; rank 0 has 6, 7, 12, rank 1 has 8, 9, 14, rank 2 has 10, 11, 16.
  check_offers<TestType>(b, {{0.5, 0}, {2, 3}, {1, 4}}, 9, 1);
  check_offers<TestType>(b, {{1, 4}, {1, 3}, {1, 2}}, 9, 1);  // a tie across ranks
  check_offers<TestType>(b, {{1, 2}, {HUGE_VAL, 4}, {3, 2}}, 14, 1);
  check_offers<TestType>(b, {{3, 1}, {3, 1}, {3, 1}}, 5, 0);    // a shared row, offered by all
  check_offers<TestType>(b, {{3, 1}, {2, 3}, {3, 1}}, 5, 0);    // and not by one of them
  check_offers<TestType>(b, {{0, 0}, {-1, -1}, {0, 0}}, 4, 0);  // no row at all; zeros
}
}  // namespace speedwell::test::pivot_tests
