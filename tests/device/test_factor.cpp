// SPDX-License-Identifier: BSD-3-Clause
// Diagonal blocks, and the solves with them in FP32 and FP64. A device may store inverses of
// triangles; the error bounds then contain the condition number of the triangles.
#include <limits>

#include "core/numbers.hpp"
#include "device/bench.hpp"

namespace speedwell::test::factor_tests {
namespace {

constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();
constexpr float infinity = std::numeric_limits<float>::infinity();

double largest(const Plain& a) {
  double most = 0;
  for (const double value : a.data) most = std::max(most, std::fabs(value));
  return most;
}

// A bound of the relative error of a sum of n products.
template <class T>
double unit_times(std::int64_t n) {
  return 2 * unit_of<T> * static_cast<double>(n + 10);
}

// Checks |A - L U| <= n u |L| |U|, entry by entry. Where the device stores inverses, the bound is
// the condition number of the triangles times the largest entry of |L| |U|.
void check_factors(Bench& b, const Floats& original) {
  const std::int64_t n = original.rows();
  CAPTURE(n);
  const Plain a = original.plain();
  Floats block(b, n, n);
  block.set([&](std::int64_t i, std::int64_t j) { return original(i, j); });
  const Factored f = factored(b, std::move(block));
  const Square l = lower_of(f.lu);
  const Square u = upper_of(f.lu);
  const Plain lu = product(l, u);
  const Plain size = product(magnitudes(l), magnitudes(u));
  const double most = largest(size);
  const bool inverted = b.device->inverted_order(Precision::fp32) > 0;
  CAPTURE(f.condition);
  CHECK(worst_share(
            n, n, [&](std::int64_t i, std::int64_t j) { return lu(i, j) - a(i, j); },
            [&](std::int64_t i, std::int64_t j) {
              return unit_times<float>(n) * (inverted ? 2 * f.condition * most : size(i, j));
            }) <= 1);
}

// A copy of a diagonal block in memory of its own, as it is sent to other ranks.
template <class T>
DeviceMatrix<T> copied(Bench& b, const DeviceMatrix<T>& from) {
  DeviceMatrix<T> to(b, from.rows(), from.columns());
  b.device->copy(*b.queue, from.view(), to.view());
  b.queue->synchronize();
  REQUIRE(to.frame_intact());
  to.put();
  return to;
}

// The error of one solve as a share of the error that its precision allows. `size` is |X| |U| for a
// solve from the right and |L| |X| for one from the left; `by_rows` says whether the right-hand
// sides are rows.
template <class T>
double solve_share(const Bench& b, const FactoredIn<T>& f, Precision purpose,
                   const Plain& product_back, const Plain& right_hand_side, const Plain& size,
                   bool by_rows) {
  const bool inverted = b.device->inverted_order(precision_of<T>) > 0;
  // On a GPU both operands of a product may be truncated to 11 bits, an error of 2^-10 each. A CPU
  // with BF16 products rounds them to BF16, an error of 2^-9 each.
  const bool rough = bytes_of(purpose) == 2 && !b.on_cpu();
  const bool rounded = purpose == Precision::bf16 && b.on_cpu() && b.device->native(purpose) &&
                       std::is_same_v<T, float>;
  std::vector<double> lines(static_cast<std::size_t>(by_rows ? size.rows : size.columns), 0.0);
  const auto line = [&](std::int64_t i, std::int64_t j) -> double& {
    return lines[static_cast<std::size_t>(by_rows ? i : j)];
  };
  for (std::int64_t j = 0; j < size.columns; ++j)
    for (std::int64_t i = 0; i < size.rows; ++i)
      line(i, j) = std::max(line(i, j), size(i, j) + std::fabs(right_hand_side(i, j)));
  const double unit =
      unit_times<T>(f.lu.n) + (rough ? 2 * 0x1p-10 : 0) + (rounded ? 2 * 0x1p-9 : 0);
  return worst_share(
      size.rows, size.columns,
      [&](std::int64_t i, std::int64_t j) { return product_back(i, j) - right_hand_side(i, j); },
      [&](std::int64_t i, std::int64_t j) {
        return unit * (inverted || rough ? 2 * f.condition * line(i, j) : size(i, j));
      });
}

template <class T>
void check_left(Bench& b, const FactoredIn<T>& f, std::int64_t m, Precision purpose) {
  const std::int64_t n = f.lu.n;
  CAPTURE(n, m, name(purpose), f.condition);
  DeviceMatrix<T> lu = copied(b, f.block);
  DeviceMatrix<T> left = uniform<T>(b, n, m);
  const Plain before = left.plain();
  b.device->solve_left_lower(*b.queue, lu.view(), left.view(), purpose, {});
  CHECK(left.frame_intact());
  CHECK(lu.unchanged());
  const Square l = lower_of(f.lu);
  const Plain y = left.plain();
  CHECK(solve_share(b, f, purpose, product(l, y), before, product(magnitudes(l), magnitudes(y)),
                    false) <= 1);
}

void check_right(Bench& b, const Factored& f, std::int64_t m, Precision purpose) {
  const std::int64_t n = f.lu.n;
  CAPTURE(n, m, name(purpose), f.condition);
  Floats lu = copied(b, f.block);
  Floats right = uniform_matrix(b, m, n);
  const Plain before = right.plain();
  b.device->solve_right_upper(*b.queue, lu.view(), right.view(), purpose, {});
  CHECK(right.frame_intact());
  CHECK(lu.unchanged());
  const Square u = upper_of(f.lu);
  const Plain x = right.plain();
  CHECK(solve_share(b, f, purpose, product(x, u), before, product(magnitudes(x), magnitudes(u)),
                    true) <= 1);
}

void check_solves(Bench& b, const Factored& f, std::int64_t m, Precision purpose) {
  check_right(b, f, m, purpose);
  check_left(b, f, m, purpose);
}

// Lets the device prepare a block L\U that it has not factored.
template <class T>
FactoredIn<T> prepared(Bench& b, std::int64_t n) {
  DeviceMatrix<T> block = plain_factors<T>(b, n);
  const Square lu = square(block);
  const std::int64_t m = b.device->inverted_order(precision_of<T>);
  b.device->prepare_diagonal(*b.queue, block.view());
  REQUIRE(block.frame_intact());
  std::int64_t changed = 0;  // entries outside of the blocks that the device may invert
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i)
      if (m == 0 || i / m != j / m) changed += static_cast<double>(block(i, j)) != lu(i, j);
  CHECK(changed == 0);
  Square undone = square(block);
  const double condition = undo_inverses(undone, 0, n, m);
  block.put();
  return {std::move(block), lu, condition};
}

// A matrix whose row and column `at` are zero except for the pivot, which elimination then leaves
// as it is.
Floats with_pivot(Bench& b, std::int64_t n, std::int64_t at, float pivot) {
  Floats a = safe_matrix(b, n);
  a.set([&](std::int64_t i, std::int64_t j) {
    return i == at && j == at ? pivot : i == at || j == at ? 0.0f : a(i, j);
  });
  return a;
}

// Checks X <- T^-1 X or T^-T X. With t = T or T^T, |t X - X0| may be `unit` |t| |X|, or, where the
// device stores inverses, `unit` times `of_inverse` times the largest entry of |t| |X|.
template <class V, class T>
void check_vector_solve(Bench& b, const FactoredIn<T>& f, bool lower, Transpose transpose,
                        std::int64_t count, double unit, double of_inverse) {
  CAPTURE(lower, transpose == Transpose::yes, count, name(precision_of<V>));
  const bool inverted = b.device->inverted_order(precision_of<T>) > 0;
  const Plain t = apply(transpose, lower ? lower_of(f.lu) : upper_of(f.lu));
  DeviceMatrix<V> x = uniform<V>(b, f.lu.n, count);
  const Plain before = x.plain();
  lower ? b.device->solve_lower(*b.queue, transpose, f.block.view(), x.view())
        : b.device->solve_upper(*b.queue, transpose, f.block.view(), x.view());
  CHECK(x.frame_intact());
  const Plain tx = product(t, x.plain());
  const Plain size = product(magnitudes(t), magnitudes(x.plain()));
  const double most = largest(size);
  CHECK(worst_share(
            f.lu.n, count, [&](std::int64_t i, std::int64_t k) { return tx(i, k) - before(i, k); },
            [&](std::int64_t i, std::int64_t k) {
              return unit * (inverted ? of_inverse * most : size(i, k));
            }) <= 1);
}

// Both triangles, with vectors in FP64, and in FP32 where the block is.
template <class T>
void check_vector_solves(Bench& b, const FactoredIn<T>& f, double unit, double of_inverse) {
  for (const bool lower : {true, false})
    for (const std::int64_t count : vector_counts) {
      if (count == 3 && f.lu.n > 129) continue;  // of one kernel with 1 and with few_vectors
      for (const Transpose transpose : transposes) {
        check_vector_solve<double>(b, f, lower, transpose, count, unit, of_inverse);
        if constexpr (std::is_same_v<T, float>)
          check_vector_solve<float>(b, f, lower, transpose, count, unit_times<float>(f.lu.n),
                                    of_inverse);
      }
    }
}

// Where the device stores inverses, the bound contains the squared condition number of the
// triangles, since computing L\U for the comparison inverts them again.
void check_fp64_solves(Bench& b, const Factored& f) {
  check_vector_solves(b, f, unit_times<double>(f.lu.n), f.condition * f.condition);
}

// Inverses in an FP32 block are rounded to FP32, and FP64 sums do not remove that error.
template <class T>
void check_prepared_vectors(Bench& b, const FactoredIn<T>& f) {
  const bool inverted = b.device->inverted_order(precision_of<T>) > 0;
  check_vector_solves(b, f, inverted ? unit_times<T>(f.lu.n) : unit_times<double>(f.lu.n),
                      2 * f.condition);
}

}  // namespace

TEST_CASE("factor_diagonal: L U = A", "[factor]") {
  Bench b;
  for (const std::int64_t n : orders) check_factors(b, safe_matrix(b, n));
}

TEST_CASE("factor_diagonal: matrices of the benchmark", "[factor]") {
  Bench b;
  for (const std::int64_t n : {33, 200, 513})
    for (const auto kind : {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham}) {
      const auto d = static_cast<double>(n);
      const MatrixSpec spec{kind, n, 1, n | 1, std::sqrt(d), 0.2 / d, 0.4 / d};
      Floats a(b, n, n);
      a.set([&](std::int64_t i, std::int64_t j) { return static_cast<float>(spec.entry(i, j)); });
      check_factors(b, a);
    }
}

TEST_CASE("factor_diagonal: an empty block has no bad pivot", "[factor]") {
  Bench b;
  Status status(b);
  b.device->factor_diagonal(*b.queue, {}, 0, status.data());
  CHECK(status.get().bad_pivot == -1);
}

TEST_CASE("factor_diagonal: the first bad pivot is named, and only the first", "[factor]") {
  Bench b;
  for (const float pivot : std::vector<float>{0.0f, -0.0f, not_a_number, infinity, -infinity})
    for (const std::int64_t n : {1, 20, 64, 70, 300})
      for (const std::int64_t at :
           std::vector<std::int64_t>{0, 5, 15, 16, 31, 32, 63, 64, 127, 128, 255, 256, n - 1}) {
        // Of the largest order, which takes longest, each pivot in a few places, and zero in all.
        const bool anywhere = n < 300 || (pivot == 0 && !std::signbit(pivot));
        if (at >= n || (!anywhere && at != 15 && at != 255)) continue;
        CAPTURE(n, at, pivot);
        Floats a = with_pivot(b, n, at, pivot);
        Status status(b);
        b.device->factor_diagonal(*b.queue, a.view(), 1000, status.data());
        CHECK(status.get().bad_pivot == 1000 + at);
        CHECK(a.frame_intact());
        if (at != 15 && at != n - 1) continue;
        Floats other = with_pivot(b, n, n / 2, 0);
        b.device->factor_diagonal(*b.queue, other.view(), 5, status.data());
        CHECK(status.get().bad_pivot == 1000 + at);
        Floats good = safe_matrix(b, n);
        b.device->factor_diagonal(*b.queue, good.view(), 5, status.data());
        CHECK(status.get().bad_pivot == 1000 + at);
      }
}

TEST_CASE("factor_diagonal: of several bad pivots the first, and a global index beyond 32 bits",
          "[factor]") {
  Bench b;
  for (const std::int64_t first : {3, 40, 130}) {
    Floats a = with_pivot(b, 300, first, 0);
    a.set([&](std::int64_t i, std::int64_t j) {
      const bool also = i == first + 1 || i == first + 70 || i == 299;
      return also && (i == j)                                        ? not_a_number
             : also || j == first + 1 || j == first + 70 || j == 299 ? 0
                                                                     : a(i, j);
    });
    Status status(b);
    b.device->factor_diagonal(*b.queue, a.view(), 5000000000, status.data());
    CHECK(status.get().bad_pivot == 5000000000 + first);
  }
}

TEST_CASE("factor_diagonal: a pivot that becomes zero by elimination", "[factor]") {
  Bench b;
  for (const std::int64_t n : {2, 40, 100}) {
    Floats a(b, n, n);
    a.set([&](std::int64_t i, std::int64_t j) {
      return i == j || (std::min(i, j) == n - 2 && std::max(i, j) == n - 1) ? 1.0f : 0.0f;
    });
    Status status(b);
    b.device->factor_diagonal(*b.queue, a.view(), 0, status.data());
    CHECK(status.get().bad_pivot == n - 1);
  }
}

TEST_CASE("solve_right_upper and solve_left_lower undo the product", "[solve]") {
  Bench b;
  for (const std::int64_t n : orders) {
    Factored f = factored(b, safe_matrix(b, n));
    for (const std::int64_t m : {0, 1, 31, 64, 65, 257}) {
      if (n > 129 && m != 1 && m != 65 && !(m == 257 && n == 700)) continue;
      for (const auto purpose : precisions) check_solves(b, f, m, purpose);
    }
  }
}

TEST_CASE("solves with blocks of the benchmark", "[solve]") {
  Bench b;
  for (const std::int64_t n : {48, 200, 512}) {
    const auto d = static_cast<double>(n);
    const MatrixSpec spec{MatrixKind::fasi_higham, n, 1, n | 1, 0, 0.2 / d, 0.4 / d};
    Floats a(b, n, n);
    a.set([&](std::int64_t i, std::int64_t j) { return static_cast<float>(spec.entry(i, j)); });
    Factored f = factored(b, std::move(a));
    for (const auto purpose : precisions) check_solves(b, f, 300, purpose);
  }
}

// Values that are rounded to 16 bits after a solve must not be rounded so before. Off the diagonal
// a device may read fewer bits, and there the identity is zero.
TEST_CASE("solves with the identity keep 16 bits of every entry", "[solve]") {
  Bench b;
  for (const std::int64_t n : {1, 64, 100, 300}) {
    Floats identity(b, n, n);
    identity.set([](std::int64_t i, std::int64_t j) { return i == j ? 1.0f : 0.0f; });
    Factored f = factored(b, std::move(identity));
    for (const auto purpose : precisions) {
      CAPTURE(n, name(purpose));
      Floats right = uniform_matrix(b, 70, n);
      Floats left = uniform_matrix(b, n, 70);
      const Plain right_before = right.plain();
      const Plain left_before = left.plain();
      b.device->solve_right_upper(*b.queue, f.block.view(), right.view(), purpose, {});
      b.device->solve_left_lower(*b.queue, f.block.view(), left.view(), purpose, {});
      CHECK(right.frame_intact());
      CHECK(left.frame_intact());
      const Plain right_after = right.plain();
      const Plain left_after = left.plain();
      for (std::int64_t i = 0; i < 70; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          REQUIRE(std::fabs(right_after(i, j) - right_before(i, j)) <=
                  0x1p-15 * std::fabs(right_before(i, j)));
          REQUIRE(std::fabs(left_after(j, i) - left_before(j, i)) <=
                  0x1p-15 * std::fabs(left_before(j, i)));
        }
    }
  }
}

TEST_CASE("solves with large and with small right-hand sides", "[solve]") {
  Bench b;
  Factored f = factored(b, safe_matrix(b, 100));
  for (const float size : {1e-30f, 1e-9f, 1e9f, 1e30f})
    for (const auto purpose : precisions) {
      CAPTURE(size, name(purpose));
      Floats right = uniform_matrix(b, 90, 100, size);
      const Plain before = right.plain();
      b.device->solve_right_upper(*b.queue, f.block.view(), right.view(), purpose, {});
      CHECK(right.frame_intact());
      const Square u = upper_of(f.lu);
      const Plain x = right.plain();
      CHECK(solve_share(b, f, purpose, product(x, u), before, product(magnitudes(x), magnitudes(u)),
                        true) <= 1);
    }
}

// Strips of 256 unknowns may have scales of their own; here they differ by up to 2^40.
TEST_CASE("solves whose unknowns differ much in size", "[solve]") {
  Bench b;
  constexpr std::int64_t n = 600;
  Floats a = safe_matrix(b, n);
  const auto size = [](std::int64_t i) { return std::ldexp(1.0f, i / 256 % 2 == 0 ? -20 : 20); };
  a.set([&](std::int64_t i, std::int64_t j) { return a(i, j) * size(j); });
  Factored f = factored(b, std::move(a));
  for (const auto purpose : precisions) {
    CAPTURE(name(purpose));
    Floats right = uniform_matrix(b, 70, n);
    const Plain before = right.plain();
    b.device->solve_right_upper(*b.queue, f.block.view(), right.view(), purpose, {});
    CHECK(right.frame_intact());
    const Plain back = product(right.plain(), upper_of(f.lu));
    const Plain most = product(magnitudes(right.plain()), magnitudes(upper_of(f.lu)));
    for (std::int64_t j = 0; j < n; ++j)
      for (std::int64_t i = 0; i < 70; ++i)
        REQUIRE(std::fabs(back(i, j) - before(i, j)) <= 0x1p-7 * (1 + most(i, j)));
  }
}

TEST_CASE("solve_lower and solve_upper in FP64", "[fp64]") {
  Bench b;
  for (const std::int64_t n : orders) {
    CAPTURE(n);
    Factored f = factored(b, safe_matrix(b, n));
    check_fp64_solves(b, f);
    CHECK(f.block.unchanged());
  }
}

TEMPLATE_TEST_CASE("prepare_diagonal: all solves read L\\U that was factored with pivoting",
                   "[solve]", float, double) {
  Bench b;
  // The solves are tested with every order above, and read what is prepared in the same way.
  for (const std::int64_t n : {1, 31, 64, 65, 129, 257, 700}) {
    CAPTURE(n);
    FactoredIn<TestType> f = prepared<TestType>(b, n);
    for (const std::int64_t m : {1, 65}) {
      check_left(b, f, m, precision_of<TestType>);
      if constexpr (precision_of<TestType> == Precision::fp32)
        for (const auto purpose : precisions) check_solves(b, f, m, purpose);
    }
    check_prepared_vectors(b, f);
    CHECK(f.block.unchanged());
  }
  DeviceMatrix<TestType> nothing(b, 0, 0);
  b.device->prepare_diagonal(*b.queue, nothing.view());
  b.queue->synchronize();
}
}  // namespace speedwell::test::factor_tests
