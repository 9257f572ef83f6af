// SPDX-License-Identifier: BSD-3-Clause
// Products of a matrix with vectors, sums, signs and zeros.
#include "core/numbers.hpp"
#include "device/bench.hpp"

namespace speedwell::test::vectors_tests {
namespace {

// Checks Y <- Y - A X and Y - A^T X with an m x n matrix A and `count` vectors. Numbers follow Y in
// memory, since a wrong subtraction from the NaN of a frame would not be noticed.
template <class V, class T>
void check_product(Bench& b, Transpose transpose, std::int64_t m, std::int64_t n, double size,
                   std::int64_t count = 1) {
  CAPTURE(m, n, size, transpose == Transpose::yes, count, name(precision_of<V>));
  DeviceMatrix<T> a = uniform<T>(b, m, n);
  const Plain op = apply(transpose, a.plain());
  DeviceMatrix<V> x = uniform<V>(b, op.columns, count, static_cast<V>(size));
  constexpr std::int64_t behind = 4;
  DeviceMatrix<V> y = uniform<V>(b, op.rows + behind, count);
  const Plain before = y.plain();
  b.device->subtract_product(*b.queue, transpose, a.view(), x.view(),
                             y.view().block(0, 0, op.rows, count));
  CHECK(y.frame_intact());
  for (std::int64_t k = 0; k < count; ++k)
    for (std::int64_t i = op.rows; i < y.rows(); ++i)
      CHECK(static_cast<double>(y(i, k)) == before(i, k));
  CHECK(a.unchanged());
  CHECK(x.unchanged());
  const Plain ax = product(op, x.plain());
  const Plain sum = product(magnitudes(op), magnitudes(x.plain()));
  const double unit = 2 * unit_of<V> * static_cast<double>(op.columns + 2);
  CHECK(worst_share(
            op.rows, count,
            [&](std::int64_t i, std::int64_t k) {
              return static_cast<double>(y(i, k)) - (before(i, k) - ax(i, k));
            },
            [&](std::int64_t i, std::int64_t k) {
              return unit * (std::fabs(before(i, k)) + sum(i, k));
            }) <= 1);
}

}  // namespace

TEMPLATE_TEST_CASE("subtract_product in FP64", "[fp64]", float, double) {
  Bench b;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{{0, 0},
                                                                               {0, 4},
                                                                               {4, 0},
                                                                               {1, 1},
                                                                               {1, 700},
                                                                               {700, 1},
                                                                               {15, 33},
                                                                               {64, 64},
                                                                               {129, 257},
                                                                               {255, 31},
                                                                               {513, 512},
                                                                               {700, 700},
                                                                               {70, 515},
                                                                               {33, 2000},
                                                                               {5000, 65}})
    for (const Transpose transpose : transposes)
      for (const double size : {1.0, 1e150})
        check_product<double, TestType>(b, transpose, m, n, size);
  const MatrixView<double> nothing{};
  for (const Transpose transpose : transposes)
    b.device->subtract_product(*b.queue, transpose, MatrixView<TestType>{}, nothing, nothing);
  b.queue->synchronize();
}

TEMPLATE_TEST_CASE("subtract_product of several vectors", "[fp64]", float, double) {
  Bench b;
  for (const auto& [m, n] : std::vector<std::pair<std::int64_t, std::int64_t>>{
           {0, 4}, {4, 0}, {1, 1}, {15, 33}, {129, 257}, {700, 70}, {33, 2000}, {5000, 65}})
    for (const std::int64_t count : vector_counts) {
      for (const Transpose transpose : transposes) {
        check_product<double, TestType>(b, transpose, m, n, 1, count);
        if constexpr (std::is_same_v<TestType, float>)
          check_product<float, float>(b, transpose, m, n, 1, count);
      }
    }
}

TEMPLATE_TEST_CASE("add is one addition for each entry", "[fp64]", float, double) {
  Bench b;
  for (const std::int64_t n : {0, 1, 2, 31, 256, 257, 10001})
    for (const std::int64_t count : {1, 5}) {
      CAPTURE(n, count);
      auto x = uniform<TestType>(b, n, count);
      auto y = uniform<TestType>(b, n, count, TestType{1e5});
      const Plain before = y.plain();
      b.device->add(*b.queue, x.view(), y.view());
      CHECK(y.frame_intact());
      CHECK(x.unchanged());
      std::int64_t wrong = 0;
      for (std::int64_t k = 0; k < count; ++k)
        for (std::int64_t i = 0; i < n; ++i)
          wrong += !(y(i, k) == static_cast<TestType>(before(i, k)) + x(i, k));
      CHECK(wrong == 0);
    }
}

TEMPLATE_TEST_CASE("take_magnitudes clears the signs", "[user]", float, double) {
  Bench b;
  for (const std::int64_t n : {0, 1, 257}) {
    auto a = uniform<TestType>(b, n, 3);
    const Plain before = a.plain();
    b.device->take_magnitudes(*b.queue, a.view());
    CHECK(a.frame_intact());
    CHECK(a.plain().data == magnitudes(before).data);
  }
}

TEST_CASE("clear sets a range to zero, and nothing beside it", "[user]") {
  Bench b;
  Doubles a = uniform_vector(b, 300);
  b.device->clear(*b.queue, {reinterpret_cast<std::byte*>(a.data() + 1), 298 * sizeof(double)});
  a.get();
  CHECK((a(0) != 0 && a(299) != 0));
  const std::vector<double> all = a.plain().data;
  CHECK(std::count(all.begin(), all.end(), 0.0) == 298);
}

}  // namespace speedwell::test::vectors_tests
