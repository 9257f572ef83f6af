// SPDX-License-Identifier: BSD-3-Clause
// Products in twice FP64's precision, compared with sums of 113 bits.
#include <cmath>
#include <vector>

#include "core/numbers.hpp"
#include "device/bench.hpp"
#include "element/two_sum.hpp"
#include "quad_type.hpp"

namespace speedwell::test::extended_tests {
namespace {

struct Shape {
  std::int64_t rows;
  std::int64_t columns;
};

const std::vector<Shape> shapes{{0, 5},   {5, 0},    {1, 1},    {3, 3},    {63, 65},
                                {64, 64}, {1, 700},  {700, 1},  {129, 57}, {513, 515},
                                {33, 33}, {2, 3000}, {3000, 2}, {2100, 9}, {9, 2100}};

double difference(Quad a, Quad b) {
  return static_cast<double>(magnitude(a - b));
}

// X, behind it vectors of about eps of it, and the three parts of the product.
struct Case {
  Case(Bench& b, Transpose transpose, const Shape& shape, std::int64_t vectors)
      : a(uniform<double>(b, shape.rows, shape.columns)),
        op(apply(transpose, a.plain())),
        count(vectors),
        x(uniform<double>(b, op.columns, 2 * vectors)),
        ax(b, op.rows, 3 * vectors),
        abs_rows(b, op.rows, 1),
        abs_ax(b, op.rows, vectors) {}

  void multiply(Bench& b, Transpose transpose) {
    b.device->multiply_extended(*b.queue, transpose, a.view(), x.view(), ax.view(), abs_rows.data(),
                                abs_ax.view(), nullptr);
    b.queue->synchronize();
    for (Doubles* sums : {&ax, &abs_rows, &abs_ax}) CHECK(sums->frame_intact());
    CHECK(a.unchanged());
    CHECK(x.unchanged());
  }

  // Each error beside what the device allows itself.
  void check() const {
    const double n = static_cast<double>(op.columns);
    double of_x = 0;
    double of_low = 0;
    double of_sums = 0;
    for (std::int64_t k = 0; k < count; ++k)
      for (std::int64_t i = 0; i < op.rows; ++i) {
        Quad exact = 0;
        Quad exact_low = 0;
        double sum = 0;
        double sum_low = 0;
        double row = 0;
        for (std::int64_t j = 0; j < op.columns; ++j) {
          exact += static_cast<Quad>(op(i, j)) * x(j, k);
          exact_low += static_cast<Quad>(op(i, j)) * x(j, count + k);
          sum += std::fabs(op(i, j) * x(j, k));
          sum_low += std::fabs(op(i, j) * x(j, count + k));
          row += std::fabs(op(i, j));
        }
        const auto share = [](double error, double allowed) {
          return error == 0 ? 0 : error / allowed;
        };
        const Quad found = static_cast<Quad>(ax(i, k)) + ax(i, count + k);
        // The sums of 113 bits have errors, too.
        const double allowed = (8 * n + n / 64) * eps * eps * sum;
        of_x = std::max(of_x, share(difference(found, exact), allowed));
        of_low =
            std::max(of_low, share(difference(ax(i, 2 * count + k), exact_low), n * eps * sum_low));
        of_sums = std::max({of_sums, share(std::fabs(abs_ax(i, k) - sum), 2 * n * eps * sum),
                            share(std::fabs(abs_rows(i) - row), 2 * n * eps * row)});
        CHECK(std::fabs(ax(i, count + k)) <= 2 * eps * std::fabs(ax(i, k)));
      }
    CHECK(of_x <= 1);
    CHECK(of_low <= 1);
    CHECK(of_sums <= 1);
  }

  Doubles a;
  Plain op;
  std::int64_t count;
  Doubles x;
  Doubles ax;
  Doubles abs_rows;
  Doubles abs_ax;
};

}  // namespace

TEST_CASE("two_sum and two_product are exact", "[extended]") {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> entry(-1, 1);
  std::uniform_int_distribution<int> exponent(-60, 60);
  for (int i = 0; i < 1000; ++i) {
    const double a = entry(random);
    const double b = std::ldexp(entry(random), exponent(random));
    CAPTURE(a, b);
    const WithError<double> sum = two_sum(a, b);
    const WithError<double> product = two_product(a, b);
    CHECK(sum.value == a + b);
    CHECK((sum.error == 0) == (static_cast<Quad>(a) + b == sum.value));
    if (std::fabs(b) < 1 && std::fabs(b) > 0x1p-50)
      CHECK(static_cast<Quad>(a) + b == static_cast<Quad>(sum.value) + sum.error);
    CHECK(product.value == a * b);
    CHECK(static_cast<Quad>(a) * b == static_cast<Quad>(product.value) + product.error);
  }
}

TEST_CASE("multiply_extended: A x or A^T x in twice FP64's precision", "[extended]") {
  Bench b;
  for (const Transpose transpose : {Transpose::no, Transpose::yes})
    for (const Shape& shape : shapes)
      for (const std::int64_t count : {1, 2, 8}) {
        // The last of two vectors shows where the sums of large shapes begin and end.
        if (count != 2 && shape.rows + shape.columns > 701) continue;
        CAPTURE(transpose == Transpose::yes, shape.rows, shape.columns, count);
        Case c(b, transpose, shape, count);
        c.x.set([&](std::int64_t j, std::int64_t k) { return c.x(j, k) * (k < count ? 1 : eps); });
        c.multiply(b, transpose);
        c.check();
      }
}

TEST_CASE("multiply_extended: sums that cancel keep twice FP64's bits", "[extended]") {
  Bench b;
  for (const Transpose transpose : {Transpose::no, Transpose::yes}) {
    // The second half of each sum is the first half with the other sign, but for one entry.
    Case c(b, transpose, {200, 200}, 1);
    const bool plain = transpose == Transpose::no;
    c.a.set([&](std::int64_t i, std::int64_t j) {
      const std::int64_t k = plain ? j : i;
      const double first = plain ? c.a(i, k % 100) : c.a(k % 100, j);
      return k < 100 ? first : k == 150 ? -first * (1 + 0x1p-40) : -first;
    });
    c.op = apply(transpose, c.a.plain());
    c.x.set([&](std::int64_t j, std::int64_t k) { return k == 0 ? c.x(j % 100, 0) : 0; });
    c.multiply(b, transpose);
    c.check();
    for (std::int64_t i = 0; i < 200; ++i) {
      const Quad rest = static_cast<Quad>(c.op(i, 150)) * c.x(150, 0) +
                        static_cast<Quad>(c.op(i, 50)) * c.x(50, 0);
      CHECK(magnitude(c.ax(i, 0) - rest) <= 0x1p-38 * magnitude(rest));
    }
  }
}

TEST_CASE("multiply_extended: no sum depends on the number of threads", "[extended]") {
  for (const Transpose transpose : {Transpose::no, Transpose::yes})
    for (const std::int64_t count : {1, 3}) {
      std::vector<Plain> found;
      for (const int threads : {1, 2, 3}) {
        Bench b(threads);
        Case c(b, transpose, {701, 307}, count);
        c.multiply(b, transpose);
        found.push_back(c.ax.plain());
      }
      for (const Plain& one : found) CHECK(one.data == found.front().data);
    }
}

}  // namespace speedwell::test::extended_tests
