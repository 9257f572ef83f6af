// SPDX-License-Identifier: BSD-3-Clause
// The operations that move rows: permute, gather and scatter.
#include "device/pivot.hpp"

namespace speedwell::test::rows_tests {
namespace {

// 16-bit elements are moved as they are.
template <class T>
DeviceMatrix<T> filled(Bench& b, std::int64_t rows, std::int64_t columns) {
  if constexpr (std::is_integral_v<T>) {
    DeviceMatrix<T> a(b, rows, columns);
    a.set([&](std::int64_t, std::int64_t) { return static_cast<T>(b.below(65536)); });
    return a;
  } else {
    return uniform<T>(b, rows, columns);
  }
}

template <class T>
void check_moves(Bench& b, std::int64_t rows, std::int64_t columns, const Indices& from,
                 const Indices& to) {
  CAPTURE(rows, columns, from.size());
  DeviceMatrix<T> a = filled<T>(b, rows, columns);
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

// The moves (from, to) of a panel's row exchanges, each of row i with itself or a later row.
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

}  // namespace

TEMPLATE_TEST_CASE("permute_rows: every kind of permutation", "[rows]", float, double,
                   std::uint16_t) {
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
    check_moves<TestType>(b, rows, columns, others, some);  // moves that are not a permutation
    check_moves<TestType>(b, rows, columns, Indices(some.size(), 7), some);
  }
  const Indices all = some_rows(b, rows, rows);
  for (const std::int64_t columns : {0, 230})
    check_moves<TestType>(b, rows, columns, all, Indices(all.rbegin(), all.rend()));
  const Indices three = some_rows(b, rows, 3);
  for (const std::int64_t columns : {0, 1, 15, 16, 17, 300})
    check_moves<TestType>(b, rows, columns, three, Indices(three.rbegin(), three.rend()));
}

TEMPLATE_TEST_CASE("permute_rows: the pivots of a panel", "[rows]", float, double, std::uint16_t) {
  Bench b;
  for (const auto& [rows, count] :
       std::vector<Shape>{{1, 1}, {64, 64}, {300, 64}, {700, 512}, {6000, 2048}}) {
    Indices from;
    Indices to;
    swaps(b, rows, count, from, to);
    check_moves<TestType>(b, rows, 37, from, to);
  }
}

TEMPLATE_TEST_CASE("gather_rows and scatter_rows undo each other", "[rows]", float, double,
                   std::uint16_t) {
  Bench b;
  for (const auto& [rows, columns] : std::vector<Shape>{{1, 1}, {300, 33}, {5000, 3}, {40, 600}})
    for (const std::int64_t count : {std::int64_t{0}, std::int64_t{1}, rows / 2, rows}) {
      CAPTURE(rows, columns, count);
      DeviceMatrix<TestType> a = filled<TestType>(b, rows, columns);
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

TEMPLATE_TEST_CASE("gather_rows may take a row twice, and an empty matrix is allowed", "[rows]",
                   float, double, std::uint16_t) {
  Bench b;
  DeviceMatrix<TestType> a = filled<TestType>(b, 9, 4);
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
}  // namespace speedwell::test::rows_tests
