// SPDX-License-Identifier: BSD-3-Clause
// The operations on a user's FP64 matrix: products, largest entries, and scaling.
#include <limits>

#include "device/user_matrix.hpp"

namespace speedwell::test::user_matrix_tests {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::vector<double> powers_of_two(Bench& b, std::int64_t count, int most) {
  std::vector<double> values(static_cast<std::size_t>(count));
  for (double& value : values) value = std::ldexp(1, static_cast<int>(b.below(2 * most)) - most);
  return values;
}

double at(const std::vector<double>& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}

// Checks that every sum that is asked for is computed within the error of its additions, that of
// the bits without any, and that no other sum is written.
void check_multiply(Bench& b, Transpose transpose, const Shape& shape, double size, bool with_rows,
                    bool with_abs_ax, bool with_checksum, std::int64_t count = 1) {
  CAPTURE(transpose == Transpose::yes, shape.rows, shape.columns, size, with_rows, with_abs_ax,
          with_checksum, count);
  Doubles a = uniform<double>(b, shape.rows, shape.columns);
  const Plain op = apply(transpose, a.plain());
  const std::int64_t m = op.rows;
  const std::int64_t n = op.columns;
  Doubles x = uniform<double>(b, n, count, size);
  x.set([&](std::int64_t j, std::int64_t k) { return j % 7 == 3 ? 0 : x(j, k); });
  Doubles ax(b, m, count);
  Doubles abs_rows(b, m, 1);
  Doubles abs_ax(b, m, count);
  const WholeNumbers checksum(b, 2);
  b.device->multiply(*b.queue, transpose, a.view(), x.view(), ax.view(),
                     with_rows ? abs_rows.data() : nullptr,
                     with_abs_ax ? abs_ax.view() : MatrixView<double>{},
                     with_checksum ? checksum.as_whole() : nullptr);
  b.queue->synchronize();
  const auto nothing = MatrixChecksum{WholeNumbers::nothing, WholeNumbers::nothing};
  CHECK(MatrixChecksum{checksum.get()[0], checksum.get()[1]} ==
        (with_checksum ? plain_checksum(a.plain()) : nothing));
  CHECK(a.unchanged());
  CHECK(x.unchanged());
  CHECK(ax.frame_intact());
  CHECK((with_rows ? abs_rows.frame_intact() : abs_rows.unchanged()));
  CHECK((with_abs_ax ? abs_ax.frame_intact() : abs_ax.unchanged()));
  Plain ones(n, 1);
  for (double& one : ones.data) one = 1;
  const Plain expected = product(op, x.plain());
  const Plain sum_rows = product(magnitudes(op), ones);
  const Plain sum_ax = product(magnitudes(op), magnitudes(x.plain()));
  const double unit = 2 * eps * static_cast<double>(n + 2);
  const auto share = [&, rows = m](const Doubles& y, const Plain& wanted, const Plain& sum) {
    return worst_share(
        rows, y.columns(), [&](std::int64_t i, std::int64_t k) { return y(i, k) - wanted(i, k); },
        [&](std::int64_t i, std::int64_t k) { return unit * sum(i, k); });
  };
  CHECK(share(ax, expected, sum_ax) <= 1);
  if (with_rows) CHECK(share(abs_rows, sum_rows, sum_rows) <= 1);
  if (with_abs_ax) CHECK(share(abs_ax, sum_ax, sum_ax) <= 1);
}

bool is_large(const Shape& shape) {
  return shape.rows + shape.columns > 1000;
}

// Whether the results lie along the rows (largest_of_rows) or the columns (largest_of_columns).
enum class Along { rows, columns };

std::vector<double> device_largest(Bench& b, Along along, const Doubles& a, const double* scale) {
  Doubles most(b, along == Along::rows ? a.rows() : a.columns(), 1);
  const WholeNumbers checksums(b, a.columns() + 1);
  const auto find = [&](std::uint64_t* sums) {
    along == Along::rows
        ? b.device->largest_of_rows(*b.queue, a.view(), scale, most.data(), sums)
        : b.device->largest_of_columns(*b.queue, a.view(), scale, most.data(), sums);
  };
  find(checksums.data());
  CHECK(checksums.get() == plain_checksums(a.plain()));
  find(nullptr);
  b.queue->synchronize();
  CHECK(most.frame_intact());
  return most.plain().data;
}

// The expected maxima. They are exact, in any order of the comparisons.
std::vector<double> plain_largest(Along along, const Plain& a, const std::vector<double>& scale) {
  const bool rows = along == Along::rows;
  std::vector<double> most(static_cast<std::size_t>(rows ? a.rows : a.columns), 0.0);
  for (std::int64_t j = 0; j < a.columns; ++j)
    for (std::int64_t i = 0; i < a.rows; ++i) {
      double& here = most[static_cast<std::size_t>(rows ? i : j)];
      const double value = std::fabs(a(i, j)) * (scale.empty() ? 1 : at(scale, rows ? j : i));
      if (std::isnan(value) || value > here) here = std::isnan(value) ? HUGE_VAL : value;
    }
  return most;
}

void check_largest(Bench& b, Along along, Doubles& a, const std::vector<double>& scale) {
  CAPTURE(a.rows(), a.columns(), along == Along::rows, scale.size());
  Doubles on_device = vector_of(b, scale);
  const auto found = device_largest(b, along, a, scale.empty() ? nullptr : on_device.data());
  CHECK(found == plain_largest(along, a.plain(), scale));
  CHECK(a.unchanged());
  CHECK(on_device.unchanged());
}

bool same(double a, double b) {
  return a == b ? std::signbit(a) == std::signbit(b) : std::isnan(a) && std::isnan(b);
}

template <class T>
T scaled_entry(double row, double value, double column) {
  const double inner = row * value;
  return static_cast<T>(inner * column);
}

template <class T>
void check_scale(Bench& b, Doubles& from, const std::vector<double>& rows,
                 const std::vector<double>& columns) {
  CAPTURE(from.rows(), from.columns(), rows.size(), columns.size());
  Doubles r = vector_of(b, rows);
  Doubles c = vector_of(b, columns);
  DeviceMatrix<T> to(b, from.rows(), from.columns());
  b.device->scale(*b.queue, from.view(), rows.empty() ? nullptr : r.data(),
                  columns.empty() ? nullptr : c.data(), to.view());
  b.queue->synchronize();
  CHECK(to.frame_intact());
  CHECK(from.unchanged());
  CHECK(r.unchanged());
  CHECK(c.unchanged());
  std::int64_t wrong = 0;
  for (std::int64_t j = 0; j < from.columns(); ++j)
    for (std::int64_t i = 0; i < from.rows(); ++i)
      wrong += !same(static_cast<double>(to(i, j)),
                     static_cast<double>(scaled_entry<T>(rows.empty() ? 1 : at(rows, i), from(i, j),
                                                         columns.empty() ? 1 : at(columns, j))));
  CHECK(wrong == 0);
}

// The results of all operations of one device for the same values, concatenated.
std::vector<double> results(int threads, const Shape& shape, const Plain& values) {
  Bench b(threads);
  const auto [m, n] = shape;
  b.random.seed(static_cast<unsigned>(threads));  // other frames, and so other alignments
  Doubles a(b, m, n);
  Floats low(b, m, n);
  a.set([&](std::int64_t i, std::int64_t j) { return values(i, j); });
  low.set([&](std::int64_t i, std::int64_t j) { return static_cast<float>(values(i, j)); });
  Doubles x(b, n, 1);
  Doubles z(b, m, 1);
  x.set([](std::int64_t j, std::int64_t) { return std::sin(static_cast<double>(j)); });
  z.set([](std::int64_t i, std::int64_t) { return std::cos(static_cast<double>(i)); });
  std::vector<double> all;
  const auto collect = [&all](Doubles& y) {
    y.get();
    const Plain got = y.plain();
    all.insert(all.end(), got.data.begin(), got.data.end());
  };
  Doubles ax(b, m, 1);
  Doubles abs_rows(b, m, 1);
  Doubles abs_ax(b, m, 1);
  b.device->multiply(*b.queue, Transpose::no, a.view(), x.view(), ax.view(), abs_rows.data(),
                     abs_ax.view(), nullptr);
  for (Doubles* y : {&ax, &abs_rows, &abs_ax}) collect(*y);
  Doubles atx(b, n, 1);
  Doubles abs_columns(b, n, 1);
  Doubles abs_atx(b, n, 1);
  b.device->multiply(*b.queue, Transpose::yes, a.view(), z.view(), atx.view(), abs_columns.data(),
                     abs_atx.view(), nullptr);
  for (Doubles* y : {&atx, &abs_columns, &abs_atx}) collect(*y);
  for (const ConstAnyMatrix& factor : {ConstAnyMatrix(a.view()), ConstAnyMatrix(low.view())}) {
    b.device->subtract_product(*b.queue, Transpose::no, factor, x.view(), z.view());
    collect(z);
    b.device->subtract_product(*b.queue, Transpose::yes, factor, z.view(), x.view());
    collect(x);
  }
  return all;
}

}  // namespace

TEST_CASE("multiply: A x or A^T x, and sums of magnitudes where they are asked for", "[user]") {
  Bench b;
  for (const Transpose transpose : transposes)
    for (const Shape& shape : shapes)
      for (const double size : {1.0, 1e150})
        for (const bool with_rows : {false, true})
          for (const bool with_abs_ax : {false, true})
            for (const bool with_checksum : {false, true}) {
              // Large shapes show where sums begin and end: all of them, or none beside A x.
              const bool alike = with_rows == with_abs_ax && with_rows == with_checksum;
              if (is_large(shape) && (!alike || size > 1)) continue;
              check_multiply(b, transpose, shape, size, with_rows, with_abs_ax, with_checksum);
            }
}

TEST_CASE("multiply: several vectors in one pass", "[user]") {
  Bench b;
  for (const Transpose transpose : transposes)
    for (const Shape& shape : shapes)
      for (const std::int64_t count : {2, 7})
        for (const bool with_sums : {false, true})
          if (!is_large(shape) || (count == 2) == with_sums)
            check_multiply(b, transpose, shape, 1, with_sums, with_sums, with_sums, count);
}

TEST_CASE("multiply: an Inf or NaN affects only its row, or its column of a transpose", "[user]") {
  Bench b;
  for (const Transpose transpose : transposes)
    for (const double bad : {infinity, -infinity, not_a_number})
      for (const std::int64_t row : {0, 40, 69}) {
        CAPTURE(transpose == Transpose::yes, bad, row);
        const bool plain = transpose == Transpose::no;
        Doubles a = plain ? uniform<double>(b, 70, 37) : uniform<double>(b, 37, 70);
        a.set([&](std::int64_t i, std::int64_t j) {
          return (plain ? i : j) == row && (plain ? j : i) == 33 ? bad : a(i, j);
        });
        Doubles x = uniform_vector(b, 37);
        Doubles ax(b, 70, 1);
        Doubles abs_rows(b, 70, 1);
        Doubles abs_ax(b, 70, 1);
        b.device->multiply(*b.queue, transpose, a.view(), x.view(), ax.view(), abs_rows.data(),
                           abs_ax.view(), nullptr);
        for (Doubles* sums : {&ax, &abs_rows, &abs_ax}) {
          sums->get();
          for (std::int64_t i = 0; i < 70; ++i) CHECK(std::isfinite((*sums)(i)) == (i != row));
        }
      }
}

TEST_CASE("largest_of_rows and largest_of_columns are exact", "[user]") {
  Bench b;
  for (const Shape& shape : shapes)
    for (const Along along : {Along::rows, Along::columns}) {
      const std::int64_t count = along == Along::rows ? shape.columns : shape.rows;
      Doubles a = wide_matrix(b, shape.rows, shape.columns);
      check_largest(b, along, a, {});
      check_largest(b, along, a, powers_of_two(b, count, 300));
      Doubles even = uniform<double>(b, shape.rows, shape.columns);
      std::vector<double> odd = powers_of_two(b, count, 2);
      for (double& value : odd) value *= 1.1;
      check_largest(b, along, even, odd);
    }
}

TEST_CASE("largest_of_rows and largest_of_columns find a single entry in any place", "[user]") {
  Bench b;
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {9, 17}, {65, 35}, {300, 9}})
    for (int trial = 0; trial < 40; ++trial) {
      const std::int64_t i = trial % 2 == 0 ? b.below(shape.rows) : shape.rows - 1;
      const std::int64_t j = trial % 3 == 0 ? b.below(shape.columns) : shape.columns - 1;
      Doubles a(b, shape.rows, shape.columns);
      a.set([&](std::int64_t k, std::int64_t l) { return k == i && l == j ? -3.0 : 0.0; });
      check_largest(b, Along::rows, a, {});
      check_largest(b, Along::columns, a, {});
    }
}

TEST_CASE("largest_of_columns takes FP32 too", "[user]") {
  Bench b;
  for (const Shape& shape : shapes) {
    auto a = uniform<float>(b, shape.rows, shape.columns);
    Doubles most(b, shape.columns, 1);
    for (const float special : {0.f, -40.f, std::numeric_limits<float>::infinity(),
                                std::numeric_limits<float>::quiet_NaN()}) {
      if (special != 0 && shape.rows * shape.columns > 0)
        a.set([&, i0 = shape.rows - 1, j0 = shape.columns / 2](std::int64_t i, std::int64_t j) {
          return i == i0 && j == j0 ? special : a(i, j);
        });
      b.device->largest_of_columns(*b.queue, a.view(), nullptr, most.data(), nullptr);
      b.queue->synchronize();
      CHECK(most.frame_intact());
      CHECK(most.plain().data == plain_largest(Along::columns, a.plain(), {}));
    }
  }
}

TEST_CASE(
    "largest_of_rows and largest_of_columns: Inf and NaN count as infinite, nothing else does",
    "[user]") {
  Bench b;
  const double negative_nan = std::copysign(not_a_number, -1.0);
  for (const double bad : {infinity, -infinity, not_a_number, negative_nan})
    for (const auto& [row, column] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {0, 0}, {7, 8}, {64, 34}, {30, 33}, {63, 31}}) {
      CAPTURE(bad, row, column);
      Doubles a = wide_matrix(b, 65, 35);
      a.set([&, i0 = row, j0 = column](std::int64_t i, std::int64_t j) {
        return i == i0 && j == j0 ? bad : a(i, j);
      });
      check_largest(b, Along::rows, a, {});
      check_largest(b, Along::columns, a, {});
      check_largest(b, Along::rows, a, powers_of_two(b, 35, 300));
      check_largest(b, Along::columns, a, powers_of_two(b, 65, 300));
      // Inf times zero is NaN.
      check_largest(b, Along::rows, a, std::vector<double>(35, 0.0));
      check_largest(b, Along::columns, a, std::vector<double>(65, 0.0));
    }
}

TEMPLATE_TEST_CASE("scale: two products in FP64, one rounding", "[user]", float, double) {
  Bench b;
  for (const Shape& shape : shapes) {
    Doubles a = uniform<double>(b, shape.rows, shape.columns);
    Doubles wide = wide_matrix(b, shape.rows, shape.columns);
    check_scale<TestType>(b, a, {}, {});
    check_scale<TestType>(b, wide, powers_of_two(b, shape.rows, 600), {});
    check_scale<TestType>(b, wide, {}, powers_of_two(b, shape.columns, 600));
    check_scale<TestType>(b, wide, powers_of_two(b, shape.rows, 600),
                          powers_of_two(b, shape.columns, 600));
    check_scale<TestType>(b, wide, wide_values(b, shape.rows), wide_values(b, shape.columns));
  }
}

// With columns first the products would overflow or underflow.
TEMPLATE_TEST_CASE("scale: rows first", "[user]", float, double) {
  Bench b;
  for (const std::vector<double>& v :
       std::vector<std::vector<double>>{{0x1p-800, 0x1p800, 0x1p800, 0x1p800},
                                        {0x1p-800, 0x1p800, 0x1p-100, 0x1p-100},
                                        {0x1p800, 0x1p-800, 0x1p800, 0x1p800},
                                        {0x1p700, 0x1p-700, 0x1p-400, 0x1p-400}}) {
    Doubles a(b, 70, 3);
    a.set([&](std::int64_t, std::int64_t) { return v[1]; });
    check_scale<TestType>(b, a, std::vector<double>(70, v[0]), std::vector<double>(3, v[2]));
    CHECK(scaled_entry<double>(v[0], v[1], v[2]) == v[3]);
  }
}

TEMPLATE_TEST_CASE("scale: Inf and NaN stay, subnormals are rounded", "[user]", float, double) {
  Bench b;
  Doubles a(b, 5, 8);
  const std::vector<double> odd{infinity, -infinity, not_a_number, 0.0, -0.0, 3e-324, 1e-40, 1e300};
  a.set([&](std::int64_t, std::int64_t j) { return at(odd, j); });
  check_scale<TestType>(b, a, {}, {});
  check_scale<TestType>(b, a, {1, 2, 0.5, 0x1p-20, 0.7}, {1, 1, 1, 1, 1, 1, 0.3, 1});
}

TEST_CASE("scale: in place", "[user]") {
  Bench b;
  for (const Shape& shape : shapes) {
    Doubles a = uniform<double>(b, shape.rows, shape.columns);
    const Plain before = a.plain();
    Doubles r = vector_of(b, wide_values(b, shape.rows));
    Doubles c = vector_of(b, wide_values(b, shape.columns));
    b.device->scale(*b.queue, a.view(), r.data(), c.data(), a.view());
    b.queue->synchronize();
    CHECK(a.frame_intact());
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < shape.columns; ++j)
      for (std::int64_t i = 0; i < shape.rows; ++i)
        wrong += !same(a(i, j), scaled_entry<double>(r(i), before(i, j), c(j)));
    CHECK(wrong == 0);
  }
}

// On a GPU the sums do not depend on the order of its thread blocks either.
TEST_CASE("sums do not depend on threads, nor on where the matrix lies", "[user]") {
  for (const Shape& shape : std::vector<Shape>{{1, 1}, {37, 21}, {257, 129}, {130, 700}}) {
    CAPTURE(shape.rows, shape.columns);
    Bench b;
    const Plain values = uniform<double>(b, shape.rows, shape.columns).plain();
    const std::vector<double> one = results(1, shape, values);
    for (const int threads : {2, 3, 5}) CHECK(results(threads, shape, values) == one);
  }
}

TEST_CASE("a matrix in host memory is written into one on the device", "[user]") {
  Bench b;
  for (const Shape& shape : shapes) {
    CAPTURE(shape.rows, shape.columns);
    Doubles a = uniform<double>(b, shape.rows, shape.columns);
    const std::int64_t ld = shape.rows + b.below(5);
    const std::vector<double> host = wide_values(b, std::max<std::int64_t>(ld, 1) * shape.columns);
    const MatrixView<const double> from{host.data(), shape.rows, shape.columns, ld};
    b.device->write(*b.queue, from, a.view());
    b.queue->synchronize();
    CHECK(a.frame_intact());
    std::int64_t wrong = 0;
    for (std::int64_t j = 0; j < shape.columns; ++j)
      for (std::int64_t i = 0; i < shape.rows; ++i) wrong += a(i, j) != from(i, j);
    CHECK(wrong == 0);
  }
}

TEST_CASE("add_entries adds several entries of one place in their order", "[user]") {
  Bench b;
  for (const Shape& shape : shapes) {
    if (shape.rows == 0 || shape.columns == 0) continue;
    for (const std::int64_t count : {0, 1, 5, 300, 2000}) {
      CAPTURE(shape.rows, shape.columns, count);
      Doubles a = uniform<double>(b, shape.rows, shape.columns);
      Plain expected = a.plain();
      std::vector<MatrixEntry> entries;
      for (std::int64_t i = 0; i < shape.rows && std::ssize(entries) < count; ++i)
        for (std::int64_t j = 0; j < shape.columns && std::ssize(entries) < count; ++j)
          for (std::int64_t k = b.below(4); k > 0 && std::ssize(entries) < count; --k)
            entries.push_back({i, j, wide_entry(b.random)});
      for (const MatrixEntry& e : entries) expected(e.row, e.column) += e.value;
      DeviceMatrix<MatrixEntry> there = vector_of(b, entries);
      b.device->add_entries(*b.queue, there.data(), std::ssize(entries), a.view());
      b.queue->synchronize();
      CHECK(a.frame_intact());
      std::int64_t wrong = 0;
      for (std::int64_t j = 0; j < shape.columns; ++j)
        for (std::int64_t i = 0; i < shape.rows; ++i) wrong += a(i, j) != expected(i, j);
      CHECK(wrong == 0);
    }
  }
}
}  // namespace speedwell::test::user_matrix_tests
