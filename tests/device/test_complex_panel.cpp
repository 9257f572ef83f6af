// SPDX-License-Identifier: BSD-3-Clause
// Panels of complex matrices: pivots, elimination, moves of rows, products.
#include "device/complex.hpp"
#include "device/pivot.hpp"
#include "panel.hpp"

namespace speedwell::test::complex_panel_tests {
namespace {

using Reference = std::complex<long double>;

/// The share that an error is of its bound; 0 where both are 0.
long double share_of(Reference error, long double bound) {
  const long double size = std::abs(error);
  return size == 0 ? 0 : size / bound;
}

// Compares with the definition; quotients and products of complex numbers have a few roundings.
template <class T>
void check_elimination(Bench& b, std::int64_t m, std::int64_t c, std::complex<T> pivot, T size) {
  CAPTURE(m, c, pivot.real(), pivot.imag());
  Numbers<T> p = random_numbers<T>(b, 1, c);
  p(0) = pivot;
  p.put();
  Numbers<T> rows = random_numbers<T>(b, m, c);
  std::uniform_real_distribution<T> part(-size, size);
  for (std::int64_t i = 0; i < m; ++i) rows(i) = {part(b.random), part(b.random)};
  rows.put();
  Copy before(rows);
  Candidate next(b);
  b.device->eliminate(*b.queue, p.view(), rows.view(), next.data());
  CHECK(rows.frame_intact());
  CHECK(p.unchanged());
  constexpr auto unit = static_cast<long double>(16 * unit_of<T>);
  long double worst = 0;
  for (std::int64_t i = 0; i < m; ++i) {
    const Reference l = Reference(before(i, 0)) / Reference(p(0, 0));
    worst = std::max(worst, share_of(Reference(rows(i, 0)) - l, unit * std::abs(l)));
    for (std::int64_t j = 1; j < c; ++j) {
      const Reference old(before(i, j));
      const Reference product = l * Reference(p(0, j));
      worst = std::max(worst, share_of(Reference(rows(i, j)) - (old - product),
                                       unit * (std::abs(old) + 2 * std::abs(product))));
    }
  }
  CHECK(worst <= 1);
  if (c > 1)
    CHECK(same(next.get(), plain_pivot(rows, 1)));
  else
    CHECK(next.unchanged());
}

template <class T>
void check_moves(Bench& b, std::int64_t rows, std::int64_t columns, const Indices& from,
                 const Indices& to) {
  CAPTURE(rows, columns, from.size());
  Numbers<T> a = random_numbers<T>(b, rows, columns);
  Copy expected(a);
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::size_t i = 0; i < from.size(); ++i) expected(to[i], j) = a(from[i], j);
  auto device_from = vector_of(b, from);
  auto device_to = vector_of(b, to);
  b.device->permute_rows(*b.queue, device_from.data(), device_to.data(), std::ssize(from),
                         a.view());
  CHECK(a.frame_intact());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < columns; ++j)
    for (std::int64_t i = 0; i < rows; ++i) wrong += a(i, j) != expected(i, j);
  CHECK(wrong == 0);
}

}  // namespace

TEMPLATE_TEST_CASE("complex find_pivot: the first of the largest |re| + |im|", "[complex][pivot]",
                   float, double) {
  Bench b;
  for (const std::int64_t m : {0, 1, 2, 31, 255, 256, 257, 700, 5000, 300000}) {
    Numbers<TestType> column = random_numbers<TestType>(b, m, 1);
    check_search(b, column);
    if (m > 0) {
      column(m - 1) = {TestType{-1}, TestType{1.5}};
      column.put();
      check_search(b, column);
    }
    // Few different values, so that many are the largest; |re| + |im| decides, not the modulus.
    column.set([&](std::int64_t, std::int64_t) {
      return std::complex<TestType>(static_cast<TestType>(b.below(3) - 1),
                                    static_cast<TestType>(b.below(5) - 2) / 2);
    });
    check_search(b, column);
  }
  for (const TestType bad : {not_a_number<TestType>, infinity<TestType>})
    for (const std::int64_t m : {1, 33, 700})
      for (const bool real : {false, true}) {
        Numbers<TestType> column = random_numbers<TestType>(b, m, 1);
        const std::int64_t at = b.below(m);
        column(at) = real ? std::complex<TestType>(bad, 1) : std::complex<TestType>(0, -bad);
        column.put();
        check_search(b, column);
      }
}

TEMPLATE_TEST_CASE("complex eliminate: agrees with the definition and finds the next pivot",
                   "[complex][pivot]", float, double) {
  using T = TestType;
  Bench b;
  for (const std::int64_t c : {1, 2, 3, 8, 9, 17, 64})
    for (const std::int64_t m : {0, 1, 2, 31, 255, 257, 700})
      check_elimination<T>(b, m, c, {T{0.75}, T{-1.25}}, T{1});
  check_elimination<T>(b, 263000, 2, {T{0}, T{1}}, T{1});
  // Pivots whose squares are out of range.
  constexpr T least = std::numeric_limits<T>::min();
  constexpr T most = std::numeric_limits<T>::max();
  for (const std::complex<T> pivot : {std::complex<T>(least / 64, -least / 128),
                                      std::complex<T>(0, 4 * least), std::complex<T>(1, least)})
    check_elimination<T>(b, 300, 5, pivot, pivot.real() == 1 ? T{1} : least / 64);
  check_elimination<T>(b, 300, 5, {most, -most}, most / 4);
}

TEMPLATE_TEST_CASE("complex eliminate: a zero pivot changes no row, and the next one is found",
                   "[complex][pivot]", float, double) {
  Bench b;
  for (const std::int64_t c : {1, 2, 20})
    for (const std::int64_t m : {0, 1, 300}) {
      CAPTURE(m, c);
      Numbers<TestType> p = random_numbers<TestType>(b, 1, c);
      p(0) = {TestType{0}, TestType{-0.0F}};
      p.put();
      Numbers<TestType> rows = random_numbers<TestType>(b, m, c);
      Candidate next(b);
      b.device->eliminate(*b.queue, p.view(), rows.view(), next.data());
      CHECK(rows.unchanged());
      if (c > 1) CHECK(same(next.get(), plain_pivot(rows, 1)));
    }
}

TEMPLATE_TEST_CASE("complex pivots offered by ranks are taken with their rows", "[complex][pivot]",
                   float, double) {
  using Z = std::complex<TestType>;
  constexpr std::int64_t w = 5;
  constexpr std::int64_t begin = 4;
  Bench b;
  // Rank 0 has rows 4 and 5, which are shared, and then 6, 7, 12; rank 1 has 8, 9, 14.
  const std::vector<PivotCandidate> found{{0.5, 0}, {2, 3}};
  const std::int64_t each =
      PivotOffers::bytes({precision_of<TestType>, nullptr, 1, w, 1, Field::complex});
  const Buffer offers = b.device->allocate(2 * each);
  const auto value = [](std::int64_t row, std::int64_t j) {
    return Z(static_cast<TestType>(row), static_cast<TestType>(j - row) / 8);
  };
  const auto global = [&](const Distribution& rows, std::int64_t i) {
    return i < 2 ? begin + i : rows.global(rows.local_begin({begin + 2}) + (i - 2)).value;
  };
  std::vector<Numbers<TestType>> panels;
  for (const int rank : {0, 1}) {
    const Distribution rows(1000, 2, 2, rank);
    panels.emplace_back(b, 5, w);
    panels.back().set([&](std::int64_t i, std::int64_t j) { return value(global(rows, i), j); });
    Candidate mine(b, found[static_cast<std::size_t>(rank)]);
    b.device->offer_pivot(*b.queue, panels.back().view(),
                          {begin, 2, rows.local_begin({begin + 2}), &rows}, mine.data(),
                          offers.data() + rank * each);
    b.queue->synchronize();
  }
  for (const int rank : {0, 1}) {
    CAPTURE(rank);
    const Distribution rows(1000, 2, 2, rank);
    Numbers<TestType>& panel = panels[static_cast<std::size_t>(rank)];
    Candidate mine(b, found[static_cast<std::size_t>(rank)]);
    DeviceMatrix<std::int64_t> taken(b, 1, 1);
    Status status(b);
    b.device->take_pivot(*b.queue, panel.view(), begin, mine.data(), {offers.data(), 2, rank, 2},
                         taken.data(), status.data());
    CHECK(taken.frame_intact());
    CHECK(panel.frame_intact());
    const std::int64_t pivot = global(Distribution(1000, 2, 2, 1), 3);
    CHECK(taken(0) == pivot);
    CHECK(status.get().bad_pivot == -1);
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < 5; ++i)
      for (std::int64_t j = 0; j < w; ++j) {
        const std::int64_t row = i == 0 ? pivot : rank == 1 && i == 3 ? begin : global(rows, i);
        wrong += panel(i, j) != value(row, j);
      }
    CHECK(wrong == 0);
  }
}

TEMPLATE_TEST_CASE("complex rows move as wholes", "[complex][rows]", float, double) {
  Bench b;
  constexpr std::int64_t rows = 9000;
  // 32 KiB hold 2048 elements of two FP64 numbers or 4096 of two FP32 ones.
  for (const std::int64_t count : {0, 1, 5, 600, 2048, 2049, 4096, 4097}) {
    const Indices some = some_rows(b, rows, count);
    check_moves<TestType>(b, rows, 1 + b.below(20), some, Indices(some.rbegin(), some.rend()));
  }
  Numbers<TestType> a = random_numbers<TestType>(b, 300, 33);
  Numbers<TestType> taken(b, 150, 33);
  const Indices chosen = some_rows(b, 300, 150);
  auto indices = vector_of(b, chosen);
  b.device->gather_rows(*b.queue, indices.data(), a.view(), taken.view());
  CHECK(taken.frame_intact());
  Numbers<TestType> back(b, 300, 33);
  back.set([](std::int64_t, std::int64_t) { return std::complex<TestType>(9, -9); });
  b.device->scatter_rows(*b.queue, indices.data(), taken.view(), back.view());
  CHECK(back.frame_intact());
  Numbers<TestType> copy(b, 300, 33);
  b.device->copy(*b.queue, a.view(), copy.view());
  CHECK(copy.frame_intact());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < 33; ++j) {
    for (std::int64_t i = 0; i < 150; ++i) {
      const std::int64_t row = chosen[static_cast<std::size_t>(i)];
      wrong += taken(i, j) != a(row, j) || back(row, j) != a(row, j);
    }
    for (std::int64_t i = 0; i < 300; ++i) wrong += copy(i, j) != a(i, j);
  }
  CHECK(wrong == 0);
}

TEMPLATE_TEST_CASE("complex subtract: C - A B", "[complex][pivot]", float, double) {
  Bench b;
  for (const auto& [m, n, k] : std::vector<std::array<std::int64_t, 3>>{{1, 1, 1},
                                                                        {1, 300, 16},
                                                                        {300, 1, 17},
                                                                        {31, 33, 32},
                                                                        {700, 8, 8},
                                                                        {129, 65, 64},
                                                                        {0, 0, 0},
                                                                        {0, 5, 3},
                                                                        {5, 0, 3},
                                                                        {6, 7, 0}}) {
    CAPTURE(m, n, k);
    Numbers<TestType> left = random_numbers<TestType>(b, m, k);
    Numbers<TestType> right = random_numbers<TestType>(b, k, n);
    Numbers<TestType> c = random_numbers<TestType>(b, m, n);
    const Plain before = first_columns(expanded(c));
    b.device->subtract(*b.queue, left.view(), right.view(), c.view());
    CHECK(c.frame_intact());
    CHECK(left.unchanged());
    CHECK(right.unchanged());
    const Plain after = first_columns(expanded(c));
    const Plain l = expanded(left);
    const Plain r = first_columns(expanded(right));
    const Plain sum = product(l, r);
    const Plain size = product(magnitudes(l), magnitudes(r));
    CHECK(worst_share(
              after.rows, after.columns,
              [&](std::int64_t i, std::int64_t j) {
                return after(i, j) - (before(i, j) - sum(i, j));
              },
              [&](std::int64_t i, std::int64_t j) {
                return 2 * unit_of<TestType> * static_cast<double>(l.columns + 4) *
                       (std::fabs(before(i, j)) + size(i, j));
              }) <= 1);
  }
}

TEMPLATE_TEST_CASE("a complex panel of all operations", "[complex][pivot]", float, double) {
  using T = TestType;
  Bench b;
  for (const auto& [m, w] : std::vector<Shape>{{1, 1}, {9, 9}, {65, 17}, {100, 64}, {700, 100}})
    for (const std::int64_t leaf : {8, 5}) {
      CAPTURE(m, w, leaf);
      Numbers<T> a = random_numbers<T>(b, m, w);
      Copy permuted(a);
      Candidate candidate(b);
      DeviceMatrix<std::int64_t> pivots(b, w, 1);
      Status status(b);
      factor_panel(*b.device, *b.queue, a.view(), 0, w, leaf,
                   {candidate.data(), pivots.data(), status.data()});
      CHECK(a.frame_intact());
      CHECK(pivots.frame_intact());
      CHECK(status.get().bad_pivot == -1);
      for (std::int64_t k = 0; k < w; ++k) {
        REQUIRE(pivots(k) >= k);
        REQUIRE(pivots(k) < m);
        for (std::int64_t j = 0; j < w; ++j) std::swap(permuted(k, j), permuted(pivots(k), j));
      }
      // |z| <= |re z| + |im z| <= sqrt(2) |z|, so no |l_ij| exceeds sqrt(2).
      double most = 0;
      const Plain lu = expanded(a);
      Plain l(2 * m, 2 * w);
      Plain u(2 * w, 2 * w);
      for (std::int64_t j = 0; j < 2 * w; ++j)
        for (std::int64_t i = 0; i < 2 * m; ++i) {
          if (i / 2 > j / 2) l(i, j) = lu(i, j);
          if (i == j) l(i, j) = 1;
          if (i / 2 <= j / 2) u(i, j) = lu(i, j);
        }
      for (std::int64_t j = 0; j < w; ++j)
        for (std::int64_t i = j + 1; i < m; ++i)
          most = std::max(most, std::hypot(l(2 * i, 2 * j), l(2 * i + 1, 2 * j)));
      CHECK(most <= 1.4143);
      const Plain back = product(l, u);
      const Plain size = product(magnitudes(l), magnitudes(u));
      const Plain given = expanded(m, w, permuted);
      CHECK(worst_share(
                2 * m, 2 * w,
                [&](std::int64_t i, std::int64_t j) { return back(i, j) - given(i, j); },
                [&, bound = 2 * unit_of<T> * static_cast<double>(2 * w + 10)](
                    std::int64_t i, std::int64_t j) { return bound * size(i, j); }) <= 1);
    }
}
}  // namespace speedwell::test::complex_panel_tests
