// SPDX-License-Identifier: BSD-3-Clause
// Factorization::solve with A and with its transpose, and matrices stored by rows: x and its errors
// beside those in long double, on every grid.
#include <speedwell/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "pipeline.hpp"
#include "solutions.hpp"

namespace speedwell::test::transposed_tests {
namespace {

constexpr std::array both{Transpose::no, Transpose::yes};

/// A matrix whose rows have quite other norms than its columns: column 1 is large, so that
/// ||A^T|| is several times ||A||, and no entry equals its mirror image.
struct Skew {
  std::int64_t n;
  int row_spread = 0;     ///< rows are scaled by powers of two up to 2^(3 row_spread)
  int column_spread = 0;  ///< columns likewise
  double ill = 0;  ///< the last column is the one before plus this times itself; 0: it is not

  double base(std::int64_t i, std::int64_t j) const {
    const double wave = std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j));
    return (wave + (i == j ? 8 : 0)) * (j == 1 ? 5 : 1);
  }
  double a(std::int64_t i, std::int64_t j) const {
    double value = base(i, j);
    if (ill != 0 && n > 1 && j == n - 1) value = base(i, j - 1) + ill * value;
    return std::ldexp(
        value, row_spread * static_cast<int>(i % 4) - column_spread * static_cast<int>(j * 3 % 4));
  }
  double op(Transpose t, std::int64_t i, std::int64_t j) const {
    return t == Transpose::no ? a(i, j) : a(j, i);
  }
  double x(std::int64_t i, std::int64_t k) const {
    return static_cast<double>((i * 7 + k * 11) % 13 - 6);
  }
  double b(Transpose t, std::int64_t i, std::int64_t k) const {
    long double sum = 0;
    for (std::int64_t j = 0; j < n; ++j)
      sum += static_cast<long double>(op(t, i, j)) * static_cast<long double>(x(j, k));
    return static_cast<double>(sum);
  }
  Element elements() const {
    return [me = *this](std::int64_t i, std::int64_t j) { return me.a(i, j); };
  }
  Element right(Transpose t) const {
    return [me = *this, t](std::int64_t i, std::int64_t k) { return me.b(t, i, k); };
  }
  Matrix matrix() const { return Matrix::from_function(n, elements()); }
  RightHandSide sides(Transpose t, std::int64_t count) const {
    return RightHandSide::from_function(count, right(t));
  }
  /// ||op(A)||.
  double norm(Transpose t) const {
    double most = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      double sum = 0;
      for (std::int64_t j = 0; j < n; ++j) sum += std::fabs(op(t, i, j));
      most = std::max(most, sum);
    }
    return most;
  }
};

Errors errors_of(const Skew& s, Transpose t, std::span<const double> x, std::int64_t k) {
  return test::errors_of(
      s.n, [&](auto i, auto j) { return s.op(t, i, j); }, [&](auto i) { return s.b(t, i, k); },
      [&](auto i) { return s.x(i, k); }, x);
}

/// Checks every x, which this rank has whole, and what the solution says of its errors.
void check_solved(const Skew& s, Transpose t, const Solution& found, std::int64_t count) {
  const double rounding = static_cast<double>(s.n + 2) * eps;  // of a residual in FP64
  CAPTURE(t == Transpose::yes, found.condition, name(found.precision()));
  CHECK(found.converged);
  CHECK(found.norm_a == Approx(s.norm(t)).epsilon(1e-12));
  REQUIRE(std::ssize(found.columns) == count);
  REQUIRE(std::ssize(found.x) == s.n * count);
  for (std::int64_t k = 0; k < count; ++k) {
    const SolveColumn& column = found.columns[static_cast<std::size_t>(k)];
    const Errors e = errors_of(s, t, column_of(found.x, s.n, k), k);
    CAPTURE(k, e.componentwise, e.normwise, e.forward, column.componentwise_error,
            column.backward_error, column.forward_bound);
    CHECK(column.converged);
    if (!std::isnan(column.componentwise_error))
      CHECK(std::fabs(e.componentwise - column.componentwise_error) <=
            0.02 * column.componentwise_error + rounding);
    CHECK(e.normwise <= column.backward_error + rounding);
    CHECK(column.backward_error <= tolerance_of(s.n));
    if (column.precision != Precision::fp64) CHECK(column.componentwise_error <= tolerance_of(s.n));
    // b is rounded, and so no more than nearly that of x.
    CHECK(e.forward <= column.forward_bound + 2 * eps * found.condition);
    CHECK(column.forward_bound <= 30 * rounding * found.condition);
  }
}

/// ||op(A)|| ||op(A)^-1|| by Gauss-Jordan elimination with pivots in long double.
double exact_condition(const Skew& s, Transpose t) {
  const auto n = static_cast<std::size_t>(s.n);
  std::vector<std::vector<long double>> rows(n, std::vector<long double>(2 * n, 0));
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      rows[i][j] = s.op(t, static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
    rows[i][n + i] = 1;
  }
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t pivot = k;
    for (std::size_t i = k; i < n; ++i)
      if (std::fabs(rows[i][k]) > std::fabs(rows[pivot][k])) pivot = i;
    std::swap(rows[k], rows[pivot]);
    for (std::size_t i = 0; i < n; ++i) {
      if (i == k) continue;
      const long double factor = rows[i][k] / rows[k][k];
      for (std::size_t j = k; j < 2 * n; ++j) rows[i][j] -= factor * rows[k][j];
    }
  }
  long double most = 0;
  for (std::size_t i = 0; i < n; ++i) {
    long double sum = 0;
    for (std::size_t j = n; j < 2 * n; ++j) sum += std::fabs(rows[i][j] / rows[i][i]);
    most = std::max(most, sum);
  }
  return static_cast<double>(most) * s.norm(t);
}

/// The rows of A, with lda - n unused numbers behind each.
std::vector<double> by_rows(const Skew& s, std::int64_t lda) {
  return dense(s.n, s.n, lda, [&](std::int64_t j, std::int64_t i) { return s.a(i, j); });
}

}  // namespace

TEST_CASE("A^T x = b with the factors of A, on every grid, in every precision",
          "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 37;
  const Skew s{n};
  const std::vector<std::int64_t> counts =
      emulated() ? std::vector<std::int64_t>{3, 9} : std::vector<std::int64_t>{1, 3, 8, 9, 20, 300};
  for (const GridShape shape : few_grids(world().size()))
    for (const std::int64_t nb : {std::int64_t{5}, n + 3})
      for (const Precision precision : {Precision::fp16, Precision::bf16, Precision::fp16x3,
                                        Precision::fp32, Precision::fp64}) {
        const bool is_first = nb < n && shape.nprow == 1 && shape.order == GridOrder::row;
        const bool usual = precision == Precision::fp16 || precision == Precision::fp64;
        if (!is_first && !usual) continue;
        CAPTURE(shape.nprow, shape.npcol, nb, name(precision));
        Factorization factors(MPI_COMM_WORLD, s.matrix(), options(shape, nb, precision));
        for (const std::int64_t count : counts)
          for (const Transpose t : {Transpose::yes, Transpose::no, Transpose::yes}) {
            if (count == 300 && !(is_first && usual)) continue;
            if (!is_first && !emulated() && (count == 3 || count == 20)) continue;  // as 8 and 9
            CAPTURE(count);
            const Solution found = factors.solve(s.sides(t, count), t);
            check_equal(found);
            check_solved(s, t, found, count);
            CHECK(factors.precision() == precision);
          }
      }
}

TEST_CASE("A^T x = b with full checks, with GMRES and with a tolerance",
          "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 41;
  const Skew s{n};
  for (const GridShape shape : few_grids(world().size()))
    for (const std::int64_t count : {2, 11})
      for (const Precision precision : {Precision::fp16, Precision::fp64})
        for (const int kind : {0, 1, 2}) {
          CAPTURE(shape.nprow, shape.npcol, count, name(precision), kind);
          SolveOptions o = options(shape, 6, precision);
          if (kind == 0) o.condition = ConditionCheck::full;
          if (kind == 1) o.refine = RefineMethod::gmres;
          if (kind == 2) o.tolerance = 4.4e-16;
          Factorization factors(MPI_COMM_WORLD, s.matrix(), o);
          const Solution found = factors.solve(s.sides(Transpose::yes, count), Transpose::yes);
          check_solved(s, Transpose::yes, found, count);
          for (const SolveColumn& column : found.columns) {
            CHECK_FALSE(std::isnan(column.componentwise_error));
            if (kind == 1) CHECK(column.method == RefineMethod::gmres);
          }
        }
}

TEST_CASE("an array stored by rows, on one rank, dealt to all", "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 33;
  const Skew s{n};
  const auto all = world();
  const std::int64_t lda = n + 2;
  const std::vector<double> rows = by_rows(s, lda);
  for (const GridShape shape : few_grids(all.size()))
    for (const int root : std::set{0, all.size() - 1})
      for (const Precision precision : {Precision::bf16, Precision::fp32, Precision::fp64})
        for (const std::int64_t count : {1, 10}) {
          if (emulated() && (precision == Precision::fp32) != (count == 1)) continue;
          CAPTURE(shape.nprow, shape.npcol, root, name(precision), count);
          const double* mine = all.rank() == root ? rows.data() : nullptr;
          const SolveOptions o = options(shape, 4, precision);
          const Matrix a = Matrix::dense(n, mine, lda, root, StorageOrder::row_major);
          Factorization factors(MPI_COMM_WORLD, a, o);
          for (const Transpose t : both)
            check_solved(s, t, factors.solve(s.sides(t, count), t), count);
          check_solved(s, Transpose::no, solve(MPI_COMM_WORLD, a, s.sides(Transpose::no, count), o),
                       count);
          // It is the column-major array of A^T.
          Factorization of_transpose(MPI_COMM_WORLD, Matrix::dense(n, mine, lda, root), o);
          const RightHandSide b = s.sides(Transpose::no, count);
          CHECK(factors.solve(b).x == of_transpose.solve(b, Transpose::yes).x);
        }
}

TEST_CASE("every form of b with A^T", "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 31;
  const Skew s{n};
  const auto all = world();
  const int root = all.size() - 1;
  for (const GridShape shape : few_grids(all.size())) {
    const ProcessGrid grid(all, shape);
    for (const Precision precision : {Precision::fp16, Precision::fp64})
      for (const std::int64_t count : {3, 12}) {
        CAPTURE(shape.nprow, shape.npcol, name(precision), count);
        Factorization factors(MPI_COMM_WORLD, s.matrix(), options(shape, 4, precision));
        const Solution whole = factors.solve(s.sides(Transpose::yes, count), Transpose::yes);
        check_solved(s, Transpose::yes, whole, count);
        const std::vector<double> array = dense(n, count, n, s.right(Transpose::yes));
        const Solution on_root =
            factors.solve(RightHandSide::dense(count, array.data(), n, root), Transpose::yes);
        CHECK(on_root.x == (all.rank() == root ? whole.x : std::vector<double>{}));
        const LocalPart part(grid, n, count, 3, 2, 0, 0, s.right(Transpose::yes));
        const Solution by_blocks =
            factors.solve(RightHandSide::block_cyclic(descriptor(n, count, 3, 2, 0, 0, part.ld),
                                                      part.memory.data()),
                          Transpose::yes);
        const LocalPart expected(grid, n, count, 3, 2, 0, 0, [&](std::int64_t i, std::int64_t k) {
          return whole.x[static_cast<std::size_t>(i + k * n)];
        });
        CHECK(by_blocks.x == expected.memory);
        for (const Transpose t : both) {
          const Solution ones = factors.solve(RightHandSide::of_ones(), t);
          CHECK(ones.norm_a == Approx(s.norm(t)).epsilon(1e-12));
          for (const double value : ones.x)
            CHECK(std::fabs(value - 1) <= 20 * static_cast<double>(n) * eps * ones.condition);
        }
      }
  }
}

TEST_CASE("small systems by rows and with A^T", "[solve][small][transposed]") {
  for (const std::int64_t n : {1, 2, 3, 50, 131}) {
    const Skew s{n};
    const std::vector<double> rows = by_rows(s, n + 1);
    const Matrix a = Matrix::dense(n, rows.data(), n + 1, 0, StorageOrder::row_major);
    Factorization factors(MPI_COMM_SELF, a, small_options());
    Factorization of_function(MPI_COMM_SELF, s.matrix(), small_options());
    for (const std::int64_t count : {1, 8, 9, 70})
      for (const Transpose t : both) {
        CAPTURE(n, count);
        check_solved(s, t, factors.solve(s.sides(t, count), t), count);
        check_solved(s, t, of_function.solve(s.sides(t, count), t), count);
      }
    for (const Transpose t : both)
      for (const double value : factors.solve(RightHandSide::of_ones(), t).x)
        CHECK(std::fabs(value - 1) <= 1e-11);
    CHECK(factors.precision() == Precision::fp64);
  }
}

TEST_CASE("a small system with A^T that the steps take over", "[solve][small][transposed]") {
  const std::int64_t n = 40;
  Skew s{n};
  const std::vector<double> rows = by_rows(s, n);
  Factorization factors(MPI_COMM_SELF, Matrix::dense(n, rows.data(), n, 0, StorageOrder::row_major),
                        small_options());
  for (const Transpose t : both) {
    std::vector<double> b = dense(n, 2, n, s.right(t));
    b[3] = std::numeric_limits<double>::quiet_NaN();
    try {
      factors.solve(RightHandSide::dense(2, b.data(), n), t);
      FAIL("a NaN was taken");
    } catch (const AccuracyError& error) {
      const Errors e = errors_of(s, t, column_of(error.best().x, n, 1), 1);
      CHECK(e.componentwise <= 8 * eps);
      CHECK(error.best().columns[1].converged);
      CHECK_FALSE(error.best().columns[0].converged);
    }
  }
  // A tolerance below what FP64 can give: the steps take over, and say so.
  SolveOptions o = small_options();
  o.tolerance = 1e-300;
  Factorization strict(MPI_COMM_SELF, Matrix::dense(n, rows.data(), n, 0, StorageOrder::row_major),
                       o);
  for (const Transpose t : both) {
    try {
      strict.solve(s.sides(t, 1), t);
      FAIL("an error of 1e-300 was reached");
    } catch (const AccuracyError& error) {
      CHECK(errors_of(s, t, error.best().x, 0).componentwise <= 8 * eps);
    }
  }
}

TEST_CASE("factors that A^T needs in FP64 stay for A", "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 35;
  const Skew s{n, 0, 0, 1e-9};
  for (const GridShape shape : few_grids(world().size())) {
    CAPTURE(shape.nprow, shape.npcol);
    SolveOptions o = options(shape, 5);
    o.first = Precision::fp16;
    o.refine = RefineMethod::ir;
    Factorization factors(MPI_COMM_WORLD, s.matrix(), o);
    const Solution found = factors.solve(s.sides(Transpose::yes, 2), Transpose::yes);
    check_solved(s, Transpose::yes, found, 2);
    CHECK(found.steps.size() >= 2);
    CHECK(found.condition > 1e8);
    CHECK(factors.precision() == found.precision());
    const Solution plain = factors.solve(s.sides(Transpose::no, 2));
    check_solved(s, Transpose::no, plain, 2);
    CHECK(plain.steps.size() == 1);
  }
}

TEST_CASE("bad scales of rows and columns with A^T", "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 34;
  for (const GridShape shape : few_grids(world().size()))
    for (const Skew& s : {Skew{n, 60, 0}, Skew{n, 0, 50}, Skew{n, -40, 70}})
      for (const Precision precision : {Precision::fp16, Precision::fp64})
        for (const std::int64_t count : {1, 10}) {
          CAPTURE(shape.nprow, shape.npcol, s.row_spread, s.column_spread, name(precision), count);
          SolveOptions o = options(shape, 5, precision);
          o.condition = ConditionCheck::full;
          Factorization factors(MPI_COMM_WORLD, s.matrix(), o);
          for (const Transpose t : both) {
            const Solution found = factors.solve(s.sides(t, count), t);
            CHECK(found.equilibrated);
            CHECK(found.condition <= 1e5);
            CHECK(found.norm_a == Approx(s.norm(t)).epsilon(1e-12));
            for (std::int64_t k = 0; k < count; ++k) {
              const Errors e = errors_of(s, t, column_of(found.x, n, k), k);
              const SolveColumn& column = found.columns[static_cast<std::size_t>(k)];
              CAPTURE(t == Transpose::yes, k, e.componentwise, column.componentwise_error);
              CHECK(column.converged);
              CHECK(e.componentwise <= 30 * eps);
              CHECK(std::fabs(e.componentwise - column.componentwise_error) <=
                    0.02 * column.componentwise_error + static_cast<double>(n + 2) * eps);
            }
          }
        }
}

TEST_CASE("condition numbers of A and of A^T, whatever else is checked",
          "[solve][many][transposed]") {
  const std::int64_t n = emulated() ? 13 : 30;
  const Skew s{n, -2, 0};
  const double expected[] = {exact_condition(s, Transpose::no), exact_condition(s, Transpose::yes)};
  REQUIRE(expected[1] > 1.8 * expected[0]);
  const auto check = [&](Factorization& factors, Transpose t) {
    const ConditionEstimate found = factors.condition(t);
    const double exact = expected[t == Transpose::yes ? 1 : 0];
    CAPTURE(t == Transpose::yes, exact);
    CHECK_FALSE(found.at_least);
    CHECK(found.value <= 1.01 * exact);
    CHECK(found.value >= exact / 1.7);  // dlacn2 may miss the largest column
  };
  for (const ConditionCheck check_kind : {ConditionCheck::off, ConditionCheck::on}) {
    SolveOptions small = small_options();
    small.condition = check_kind;
    small.equilibrate = false;
    Factorization alone(MPI_COMM_SELF, s.matrix(), small);
    for (const Transpose t : both) check(alone, t);
    for (const GridShape shape : few_grids(world().size()))
      for (const Precision precision : {Precision::fp32, Precision::fp64}) {
        CAPTURE(shape.nprow, shape.npcol, name(precision), name(check_kind));
        SolveOptions o = options(shape, 5, precision);
        o.condition = check_kind;
        o.equilibrate = false;
        Factorization factors(MPI_COMM_WORLD, s.matrix(), o);
        CHECK(factors.precision() == precision);
        for (const Transpose t : both) check(factors, t);
        const Solution found = factors.solve(s.sides(Transpose::yes, 1), Transpose::yes);
        if (check_kind == ConditionCheck::on)
          CHECK(found.condition == factors.condition(Transpose::yes).value);
        else
          CHECK(std::isnan(found.condition));
      }
  }
}

TEST_CASE("what is wrong with an array stored by rows is named as the caller has it",
          "[solve][transposed]") {
  const auto all = world();
  const std::int64_t n = 9;
  const Skew s{n};
  std::vector<double> rows = by_rows(s, n);
  const auto words = [&](std::int64_t lda, StorageOrder order) {
    const SolveOptions o = options(grids(all.size()).front(), 3);
    return refusal(all, [&] {
      solve(MPI_COMM_WORLD, Matrix::dense(n, rows.data(), lda, 0, order), RightHandSide::of_ones(),
            o);
    });
  };
  CHECK(words(n - 1, StorageOrder::row_major) ==
        "the leading dimension of A is 8; allowed: at least its 9 columns");
  if (all.size() > 1)
    CHECK(words(n, all.rank() == 0 ? StorageOrder::row_major : StorageOrder::column_major)
              .find("row-major") != std::string::npos);
  rows[2 * 9 + 5] = std::numeric_limits<double>::infinity();
  CHECK(words(n, StorageOrder::row_major) ==
        "A(3, 6) is inf (counted from 1); allowed are finite numbers");
  CHECK(words(n, StorageOrder::column_major) ==
        "A(6, 3) is inf (counted from 1); allowed are finite numbers");
  if (all.rank() == 0)
    CHECK_THROWS_WITH(
        solve(MPI_COMM_SELF, Matrix::dense(n, rows.data(), n, 0, StorageOrder::row_major),
              RightHandSide::of_ones(), small_options()),
        "A(3, 6) is inf (counted from 1); allowed are finite numbers");
}
}  // namespace speedwell::test::transposed_tests
