// SPDX-License-Identifier: BSD-3-Clause
// Complex panels as updates read them, solves with complex triangles, and complex vectors.
#include "device/complex.hpp"
#include "device/pivot.hpp"

namespace speedwell::test::complex_tests {
namespace {

template <class T>
void check_cast(Bench& b, Numbers<T>& from, Precision precision, double sign) {
  CAPTURE(name(precision), sign, from.rows(), from.columns());
  Low to(b, precision, 2 * from.rows(), 2 * from.columns());
  Status status(b);
  b.device->cast(*b.queue, from.view(), sign, to.view(), to.control(), status.data());
  b.queue->synchronize();
  CHECK(to.frame_intact());
  CHECK(from.unchanged());
  CHECK(status.get().nonfinite == 0);
  const Plain e = expanded(from);
  double most = 0;
  for (const double value : e.data) most = std::max(most, std::fabs(value));
  const double scale =
      needs_scale(precision) ? power_of_two(fp16_scale_exponent(static_cast<float>(most))) : 1;
  REQUIRE(to.scale() == scale);
  CHECK(to.wrong_parts([&](std::int64_t i, std::int64_t j) {
    return static_cast<float>(sign * scale * e(i, j));
  }) == 0);
  if (bytes_of(precision) / planes_of(precision) == 2) return;
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < e.columns; ++j)
    for (std::int64_t i = 0; i < e.rows; ++i) wrong += to.stored(i, j) != sign * e(i, j);
  CHECK(wrong == 0);
}

/// Random L\U of a moderate condition number, as pivoting gives it.
template <class T>
Numbers<T> factors(Bench& b, std::int64_t n) {
  Numbers<T> lu = random_numbers<T>(b, n, n);
  const T small = std::min(T{0.7F}, 1 / std::sqrt(static_cast<T>(n)));
  lu.set([&](std::int64_t i, std::int64_t j) {
    const std::complex<T> z = lu(i, j);
    return i == j ? z + std::complex<T>(z.real() < 0 ? -1 : 1, z.imag() < 0 ? -1 : 1) : small * z;
  });
  return lu;
}

/// E(L) or E(U) of L\U.
template <class T>
Plain triangle_of(const Numbers<T>& lu, Triangle triangle) {
  Plain e = expanded(lu);
  const bool lower = triangle == Triangle::unit_lower;
  for (std::int64_t j = 0; j < e.columns; ++j)
    for (std::int64_t i = 0; i < e.rows; ++i) {
      const bool inside = lower ? i / 2 > j / 2 : i / 2 <= j / 2;
      if (!inside) e(i, j) = lower && i == j ? 1 : 0;
    }
  return e;
}

/// Large numbers where the triangle is not: a solve may multiply them by zero, and no more.
template <class T>
void spoil_other(Numbers<T>& lu, Triangle triangle) {
  const bool lower = triangle == Triangle::unit_lower;
  lu.set([&](std::int64_t i, std::int64_t j) {
    return (lower ? i > j : i <= j) ? lu(i, j) : std::complex<T>(1e30F, -1e30F);
  });
}

/// Checks |op(T) X - B| <= n u |op(T)| |X| for real matrices.
void check_solution(const Plain& t, const Plain& x, const Plain& before, double unit) {
  const Plain tx = product(t, x);
  const Plain size = product(magnitudes(t), magnitudes(x));
  CHECK(worst_share(
            x.rows, x.columns,
            [&](std::int64_t i, std::int64_t j) { return tx(i, j) - before(i, j); },
            [&](std::int64_t i, std::int64_t j) {
              return 2 * unit * static_cast<double>(t.rows + 10) * size(i, j);
            }) <= 1);
}

/// B <- L^-1 B by `solve`.
template <class T, class Solve>
void check_triangle(Bench& b, std::int64_t n, std::int64_t m, const Solve& solve) {
  CAPTURE(n, m);
  Numbers<T> lu = factors<T>(b, n);
  const Plain l = triangle_of(lu, Triangle::unit_lower);
  spoil_other(lu, Triangle::unit_lower);
  Numbers<T> x = random_numbers<T>(b, n, m);
  const Plain before = first_columns(expanded(x));
  solve(lu.view(), x.view());
  CHECK(x.frame_intact());
  CHECK(lu.unchanged());
  check_solution(l, first_columns(expanded(x)), before, unit_of<T>);
}

/// Vectors in planes as columns of pairs.
template <class V>
Plain pairs_of(const DeviceMatrix<V>& planes) {
  Plain pairs(2 * planes.rows(), planes.columns() / 2);
  for (std::int64_t k = 0; k < pairs.columns; ++k)
    for (std::int64_t i = 0; i < planes.rows(); ++i) {
      pairs(2 * i, k) = static_cast<double>(planes(i, 2 * k));
      pairs(2 * i + 1, k) = static_cast<double>(planes(i, 2 * k + 1));
    }
  return pairs;
}

/// A solve with a block of T and vectors of V.
template <class T, class V>
void check_planes(Bench& b, std::int64_t n, std::int64_t vectors) {
  for (const Triangle triangle : {Triangle::unit_lower, Triangle::upper})
    for (const Transpose transpose : transposes) {
      const bool lower = triangle == Triangle::unit_lower;
      CAPTURE(n, vectors, lower, transpose == Transpose::yes, sizeof(T), sizeof(V));
      Numbers<T> lu = factors<T>(b, n);
      const Plain t = apply(transpose, triangle_of(lu, triangle));
      spoil_other(lu, triangle);
      DeviceMatrix<V> x = uniform<V>(b, n, 2 * vectors);
      const Plain before = pairs_of(x);
      lower ? b.device->solve_lower(*b.queue, transpose, lu.view(), x.view())
            : b.device->solve_upper(*b.queue, transpose, lu.view(), x.view());
      CHECK(x.frame_intact());
      CHECK(lu.unchanged());
      check_solution(t, pairs_of(x), before, unit_of<V>);
    }
}

const std::vector<std::int64_t> some_orders{1, 2, 16, 33, 64, 65, 129, 256, 300};

}  // namespace

TEST_CASE("complex cast: the expanded matrix, rounded once", "[complex][cast]") {
  Bench b;
  for (const Precision precision : all_precisions)
    with_storage_of(precision, [&]<class T>() {
      for (const float size : {1.0F, 1e-30F, 3e30F, 1e-40F})
        for (const double sign : {1.0, -1.0}) {
          Numbers<T> a = random_numbers<T>(b, 37, 11, static_cast<T>(size));
          check_cast(b, a, precision, sign);
        }
      for (const auto& [m, n] : std::vector<Shape>{
               {0, 0}, {0, 3}, {3, 0}, {1, 1}, {1, 300}, {257, 17}, {600, 3}, {3, 600}}) {
        Numbers<T> a = random_numbers<T>(b, m, n);
        check_cast(b, a, precision, 1);
      }
      for (const bool real : {false, true})
        for (const T bad : {not_a_number<T>, infinity<T>}) {
          Numbers<T> a = random_numbers<T>(b, 300, 7);
          a(b.below(300), b.below(7)) = real ? std::complex<T>(bad, 0) : std::complex<T>(0, -bad);
          a.put();
          Low to(b, precision, 600, 14);
          Status status(b);
          b.device->cast(*b.queue, a.view(), 1, to.view(), to.control(), status.data());
          CHECK(status.get().nonfinite > 0);
        }
    });
}

TEMPLATE_TEST_CASE("complex solves with the unit lower triangle", "[complex][solve]", float,
                   double) {
  Bench b;
  const auto in_panel = [&](ConstAnyMatrix l, AnyMatrix x) {
    b.device->solve_unit_lower(*b.queue, l, x);
  };
  for (const std::int64_t n : some_orders)
    for (const std::int64_t m : {1, 65}) check_triangle<TestType>(b, n, m, in_panel);
  for (const Shape& shape : std::vector<Shape>{{0, 0}, {0, 4}, {4, 0}, {8, 700}})
    check_triangle<TestType>(b, shape.first, shape.second, in_panel);
  for (const Precision purpose : {Precision::fp16, Precision::fp16x3, Precision::fp64})
    for (const std::int64_t n : some_orders)
      check_triangle<TestType>(b, n, 40, [&](ConstAnyMatrix l, AnyMatrix x) {
        b.device->solve_left_lower(*b.queue, l, x, purpose, {});
      });
}

TEMPLATE_TEST_CASE("complex diagonal blocks stay L\\U", "[complex][solve]", float, double) {
  Bench b;
  for (const std::int64_t n : {0, 1, 65, 300}) {
    Numbers<TestType> lu = factors<TestType>(b, n);
    b.device->prepare_diagonal(*b.queue, lu.view());
    CHECK(lu.unchanged());
  }
}

TEST_CASE("complex solves with vectors in planes", "[complex][solve]") {
  Bench b;
  for (const std::int64_t n : some_orders)
    for (const std::int64_t vectors : {1, 2, 5, 40}) {
      if (n > 200 && vectors > 5) continue;
      check_planes<double, double>(b, n, vectors);
      check_planes<float, double>(b, n, vectors);
      check_planes<float, float>(b, n, vectors);
    }
  check_planes<float, double>(b, 0, 1);
  check_planes<double, double>(b, 5, 0);
}

TEMPLATE_TEST_CASE("vectors of complex numbers between pairs and planes", "[complex][vectors]",
                   float, double) {
  Bench b;
  for (const auto& [m, vectors] : std::vector<Shape>{{0, 1}, {1, 1}, {37, 3}, {257, 2}, {700, 40}})
    for (const Pairs pairs : {Pairs::value_alone, Pairs::sums}) {
      const std::int64_t columns = 2 * vectors;
      CAPTURE(m, vectors, pairs == Pairs::sums);
      DeviceMatrix<TestType> x = uniform<TestType>(b, 2 * m, columns);
      const bool sums = pairs == Pairs::sums;
      if (!sums)
        x.set([&](std::int64_t i, std::int64_t j) {
          return j % 2 == 0 ? x(i, j) : not_a_number<TestType>;
        });
      DeviceMatrix<TestType> y = uniform<TestType>(b, m, columns);
      Copy before(y);
      b.device->add_pairs(*b.queue, pairs, x.view(), y.view());
      CHECK(y.frame_intact());
      CHECK(x.unchanged());
      DeviceMatrix<TestType> spread(b, 2 * m, columns);
      b.device->spread_pairs(*b.queue, y.view(), spread.view());
      CHECK(spread.frame_intact());
      CHECK(y.frame_intact());
      std::int64_t wrong = 0;
      for (std::int64_t k = 0; k < columns; k += 2)
        for (std::int64_t i = 0; i < m; ++i) {
          const TestType re = x(2 * i, k) - (sums ? x(2 * i + 1, k + 1) : 0);
          const TestType im = x(2 * i + 1, k) + (sums ? x(2 * i, k + 1) : 0);
          wrong += y(i, k) != before(i, k) + re || y(i, k + 1) != before(i, k + 1) + im;
          wrong += spread(2 * i, k) != y(i, k) || spread(2 * i + 1, k) != y(i, k + 1) ||
                   spread(2 * i, k + 1) != y(i, k + 1) || spread(2 * i + 1, k + 1) != -y(i, k);
        }
      CHECK(wrong == 0);
    }
}
}  // namespace speedwell::test::complex_tests
