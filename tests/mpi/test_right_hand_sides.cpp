// SPDX-License-Identifier: BSD-3-Clause
// speedwell::solve with one and with many right-hand sides: their x, their errors, and columns of b
// for which there is no x.
#include <speedwell/solve.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>

#include "catch.hpp"
#include "pipeline.hpp"
#include "solutions.hpp"

namespace speedwell::test::right_hand_sides_tests {
namespace {

/// Checks that an x was accepted, that it is right, and that its reported errors are true.
/// @param measured whether the componentwise error must have been measured
void check_solved(const Exact& s, std::span<const double> x, const SolveColumn& column,
                  std::int64_t k, bool measured, double condition) {
  const Errors found = errors_of(s, x, k);
  const double rounding = static_cast<double>(s.n + 2) * eps;  // of a residual in FP64
  CAPTURE(k, found.componentwise, found.normwise, found.forward, column.componentwise_error,
          column.backward_error, column.forward_bound, name(column.precision));
  CHECK(column.converged);
  CHECK(column.why.empty());
  CHECK(column.iterations >= 1);
  CHECK(std::isnan(column.componentwise_error) == !measured);
  if (measured) {
    CHECK(found.componentwise <= column.componentwise_error * 1.02 + rounding);
    CHECK(column.componentwise_error <= found.componentwise * 1.02 + rounding);
    if (column.precision != Precision::fp64) CHECK(column.componentwise_error <= tolerance_of(s.n));
  }
  CHECK(found.componentwise <= 4 * tolerance_of(s.n));
  CHECK(found.normwise <= column.backward_error + rounding);
  CHECK(column.backward_error <= tolerance_of(s.n));
  CHECK(std::isnan(column.hpl_residual) == !measured);
  if (measured)
    CHECK(column.hpl_residual ==
          Approx(column.backward_error / (eps * static_cast<double>(s.n))).epsilon(1e-12));
  CHECK(found.forward <= column.forward_bound + 2 * eps);
  CHECK(column.forward_bound <= 10 * rounding * condition);
}

Solution best_of(const std::function<Solution()>& work, std::string& words) {
  try {
    return work();
  } catch (const AccuracyError& error) {
    words = error.what();
    return error.best();
  }
}

}  // namespace

TEST_CASE("any number of right-hand sides on every grid, in every precision",
          "[solve][many][right-hand-sides]") {
  const std::int64_t n = emulated() ? 13 : 37;
  const Exact s{n};
  const std::vector<std::int64_t> counts =
      emulated() ? std::vector<std::int64_t>{3, 9} : std::vector<std::int64_t>{1, 3, 8, 9, 20, 300};
  for (const GridShape shape : few_grids(world().size()))
    for (const std::int64_t count : counts)
      for (const Precision precision : {Precision::automatic, Precision::fp16, Precision::bf16,
                                        Precision::fp16x3, Precision::fp32, Precision::fp64})
        for (const ConditionCheck check : {ConditionCheck::on, ConditionCheck::full}) {
          if (count == 300 && precision != Precision::fp16 && precision != Precision::fp64)
            continue;
          const bool is_first = shape.nprow == 1 && shape.order == GridOrder::row;
          if (!is_first && !emulated() && (count == 1 || count == 20)) continue;  // as 3 and 9
          // The check's work changes where more than 8 are solved for together.
          const bool changes = emulated() ? precision == Precision::fp64 : count == 3 || count == 9;
          if (check == ConditionCheck::full && !changes) continue;
          CAPTURE(shape.nprow, shape.npcol, count, name(precision), name(check));
          SolveOptions o = options(shape, 5, precision);
          o.condition = check;
          const Solution found = solve(MPI_COMM_WORLD, s.matrix(), s.function(count), o);
          CHECK(found.converged);
          REQUIRE(std::ssize(found.columns) == count);
          REQUIRE(std::ssize(found.x) == n * count);
          check_equal(found);
          const bool estimated =
              found.precision() == Precision::fp64 && count > 8 && check != ConditionCheck::full;
          for (std::int64_t k = 0; k < count; ++k)
            check_solved(s, column_of(found.x, n, k), found.columns[static_cast<std::size_t>(k)], k,
                         !estimated, found.condition);
        }
}

TEST_CASE("orders of one, two and three with more right-hand sides than rows",
          "[solve][many][right-hand-sides]") {
  for (const GridShape shape : few_grids(world().size()))
    for (const std::int64_t n : {1, 2, 3})
      for (const std::int64_t count : {5, 12})
        for (const Precision precision : {Precision::bf16, Precision::fp32, Precision::fp64}) {
          CAPTURE(shape.nprow, shape.npcol, n, count, name(precision));
          const Exact s{n};
          const Solution found =
              solve(MPI_COMM_WORLD, s.matrix(), s.function(count), options(shape, 1, precision));
          check_equal(found);
          for (std::int64_t k = 0; k < count; ++k)
            CHECK(errors_of(s, column_of(found.x, n, k), k).forward <= 40 * eps);
        }
}

namespace {

/// Checks a solution, of which every rank here has all of x, where column k is solved unless b is
/// bad there.
void check_but_bad(const Exact& s, const Solution& found, std::int64_t count,
                   const std::string& words, bool estimated) {
  CHECK_FALSE(found.converged);
  REQUIRE(std::ssize(found.columns) == count);
  REQUIRE(std::ssize(found.x) == s.n * count);
  REQUIRE(!found.steps.empty());
  int named = 0;
  for (std::int64_t k = 0; k < count; ++k) {
    CAPTURE(k);
    const SolveColumn& column = found.columns[static_cast<std::size_t>(k)];
    const auto x = column_of(found.x, s.n, k);
    if (!s.is_bad(k)) {
      // An x with entries that underflow is measured as it is returned.
      const bool returned = k == s.tiny_column && !std::isnan(column.componentwise_error);
      check_solved(s, x, column, k, !estimated || returned, found.condition);
      continue;
    }
    const std::string why =
        k == s.nan_column ? "b(6, " + std::to_string(k + 1) + ") is nan"
                          : "b(" + std::to_string(s.n) + ", " + std::to_string(k + 1) + ") is -inf";
    CHECK(column.why.starts_with(why));
    // The message has the first one whole, and counts the others.
    if (named++ == 0)
      CHECK(words.find(column.why) != std::string::npos);
    else
      CHECK(words.find("more right-hand side") != std::string::npos);
    CHECK_FALSE(column.converged);
    CHECK(std::isnan(column.forward_bound));
    CHECK_FALSE(column.componentwise_error <= 1);
    CHECK_FALSE(column.backward_error <= 1);
    for (const double value : x) CHECK(std::isnan(value));
  }
}

/// Few and many right-hand sides with one of each kind.
struct Mixed {
  Exact s;
  std::int64_t count;
};
std::vector<Mixed> mixed(std::int64_t n) {
  return {{{n, 1, 3, 4, 2, 6}, 7}, {{n, 1, 0, 9, 10, 11}, 13}, {{n, 12, 11, 1, 2, 0}, 13}};
}

}  // namespace

TEST_CASE("a bad column of b leaves the others on every grid, in every form",
          "[solve][many][right-hand-sides]") {
  const std::int64_t n = emulated() ? 13 : 31;
  const auto all = world();
  for (const GridShape shape : few_grids(all.size())) {
    const ProcessGrid grid(all, shape);
    for (const Mixed& each : mixed(n))
      for (const Precision precision : {Precision::fp16, Precision::fp32, Precision::fp64}) {
        const Exact& s = each.s;
        const std::int64_t count = each.count;
        CAPTURE(shape.nprow, shape.npcol, count, name(precision));
        const SolveOptions o = options(shape, 4, precision);
        const bool estimated = precision == Precision::fp64 && count > 8;
        const auto b = [&s](std::int64_t i, std::int64_t k) { return s.b(i, k); };
        std::string words;
        const auto solved = [&](const RightHandSide& side) {
          words.clear();
          return best_of([&] { return solve(MPI_COMM_WORLD, s.matrix(), side, o); }, words);
        };
        const Solution by_function = solved(s.function(count));
        check_equal(by_function);
        check_but_bad(s, by_function, count, words, estimated);
        const std::vector<double> array = dense(n, count, n, b);
        const int root = all.size() - 1;
        const Solution by_array = solved(RightHandSide::dense(count, array.data(), n, root));
        if (all.rank() == root)
          check_but_bad(s, by_array, count, words, estimated);
        else
          CHECK(by_array.x.empty());
        const LocalPart part(grid, n, count, 3, 2, 0, 0, b);
        const Solution by_blocks = solved(RightHandSide::block_cyclic(
            descriptor(n, count, 3, 2, 0, 0, part.ld), part.memory.data()));
        REQUIRE(by_blocks.columns.size() == by_function.columns.size());
        std::vector<double> whole(by_function.x.size(), 0.0);
        const LocalPart expected(grid, n, count, 3, 2, 0, 0, [&](std::int64_t i, std::int64_t k) {
          return by_function.x[static_cast<std::size_t>(i + k * n)];
        });
        REQUIRE(by_blocks.x.size() == expected.memory.size());
        for (std::size_t i = 0; i < expected.memory.size(); ++i)
          if (static_cast<std::int64_t>(i) % part.ld < n && expected.memory[i] != 0)
            CHECK((by_blocks.x[i] == expected.memory[i] ||
                   (std::isnan(by_blocks.x[i]) && std::isnan(expected.memory[i]))));
        for (std::size_t k = 0; k < by_blocks.columns.size(); ++k)
          CHECK(by_blocks.columns[k].why == by_function.columns[k].why);
      }
  }
}

TEST_CASE("a bad column of b leaves the others of a small system", "[solve][right-hand-sides]") {
  constexpr std::int64_t n = 31;
  for (const Mixed& each : mixed(n)) {
    const Exact& s = each.s;
    const std::int64_t count = each.count;
    const auto b = [&s](std::int64_t i, std::int64_t k) { return s.b(i, k); };
    const std::vector<double> array = dense(n, count, n, b);
    for (const RightHandSide& side :
         {s.function(count), RightHandSide::dense(count, array.data(), n),
          RightHandSide::block_cyclic(descriptor(n, count, 5, 2, 0, 0, n), array.data())}) {
      CAPTURE(count);
      std::string words;
      const Solution found =
          best_of([&] { return solve(MPI_COMM_SELF, s.matrix(), side, small_options()); }, words);
      CHECK(words.starts_with("no x of the accuracy that was asked for"));
      check_but_bad(s, found, count, words, found.precision() == Precision::fp64 && count > 8);
    }
  }
}

TEST_CASE("a right-hand side that does not converge leaves the others",
          "[solve][many][right-hand-sides]") {
  // Two systems of which one is exact in FP16, and so is solved by one correction.
  constexpr std::int64_t n = 24;
  const Exact half{12};
  const auto a = [&](std::int64_t i, std::int64_t j) {
    if (i < 12 && j < 12) return half.a(i, j);
    return i == j ? std::ldexp(1., static_cast<int>(i % 5)) : 0;
  };
  const auto is_easy = [](std::int64_t k) { return k % 3 != 1; };
  const auto b = [&](std::int64_t i, std::int64_t k) {
    if (is_easy(k)) return i < 12 ? 0. : static_cast<double>(i + k);
    return i < 12 ? half.b(i, k) : 0.;
  };
  for (const GridShape shape : few_grids(world().size()))
    for (const std::int64_t count : {4, 11}) {
      CAPTURE(shape.nprow, shape.npcol, count);
      SolveOptions o = options(shape, 5, Precision::fp16);
      o.max_iterations = 1;
      std::string words;
      const Solution found = best_of(
          [&] {
            return solve(MPI_COMM_WORLD, Matrix::from_function(n, a),
                         RightHandSide::from_function(count, b), o);
          },
          words);
      CHECK_FALSE(found.converged);
      if (count == 11) CHECK(words.find("(4 right-hand sides left)") != std::string::npos);
      check_equal(found);
      for (std::int64_t k = 0; k < count; ++k) {
        CAPTURE(k);
        const SolveColumn& column = found.columns.at(static_cast<std::size_t>(k));
        CHECK(column.converged == is_easy(k));
        CHECK(column.iterations == 1);
        CHECK(column.why.empty());
        const auto x = column_of(found.x, n, k);
        for (std::int64_t i = 0; i < n; ++i) {
          const double exact = is_easy(k) ? b(i, k) / a(i, i) : i < 12 ? half.x(i, k) : 0;
          CHECK(std::fabs(x[static_cast<std::size_t>(i)] - exact) <= (is_easy(k) ? 0 : 0.1));
        }
      }
    }
}

namespace {

/// A function for b that counts its calls for each column, on all ranks.
class Counted {
 public:
  Counted(std::int64_t count, ElementFunction b)
      : count_(count),
        calls_(std::make_shared<std::vector<std::atomic<int>>>(static_cast<std::size_t>(count))),
        b_(std::move(b)) {}
  RightHandSide side() const {
    return RightHandSide::from_function(count_, [calls = calls_, b = b_](auto i, auto k) {
      ++calls->at(static_cast<std::size_t>(k));
      return b(i, k);
    });
  }
  /// CHECKs that it was called for each element once.
  void check_calls(const Communicator& all, std::int64_t n) const {
    for (const std::atomic<int>& calls : *calls_)
      CHECK(all.all_reduce(std::int64_t{calls}, Reduction::sum) == n);
  }

 private:
  std::int64_t count_;
  std::shared_ptr<std::vector<std::atomic<int>>> calls_;
  ElementFunction b_;
};

double hilbert(std::int64_t i, std::int64_t j) {
  return 1 / static_cast<double>(i + j + 1);
}

}  // namespace

TEST_CASE("a function for b is called once for each element, also where steps follow",
          "[solve][right-hand-sides][host]") {
  constexpr std::int64_t n = 10;  // of a matrix with a condition number of about 1e13
  const auto all = world();
  // 600 are more than are solved together.
  for (const std::int64_t count : {1, 8, 9, 600})
    for (const GridShape shape : few_grids(all.size()))
      for (const std::int64_t bad : {-1, 3}) {
        if (bad >= count || (count == 600 && (shape.nprow > 1 || emulated()))) continue;
        CAPTURE(shape.nprow, shape.npcol, count, bad);
        const Counted b(count, [=](std::int64_t i, std::int64_t k) {
          if (k == bad && i == 7) return not_a_number;
          double sum = 0;
          for (std::int64_t j = 0; j < n; ++j)
            sum += hilbert(i, j) * static_cast<double>(k % 5 + 1);
          return sum;
        });
        SolveOptions o = options(shape, 3);
        o.first = Precision::bf16;
        o.max_iterations = 5;
        std::string words;
        const Solution found = best_of(
            [&] { return solve(MPI_COMM_WORLD, Matrix::from_function(n, hilbert), b.side(), o); },
            words);
        b.check_calls(all, n);
        REQUIRE(found.steps.size() > 1);
        CHECK(found.steps[0].precision == Precision::bf16);
        CHECK_FALSE(found.steps[0].solved);
        CHECK(found.steps.back().solved);
        CHECK(words.empty() == (bad < 0));
        for (std::int64_t k = 0; k < count; ++k) {
          const SolveColumn& column = found.columns.at(static_cast<std::size_t>(k));
          CAPTURE(k);
          CHECK(column.converged == (k != bad));
          CHECK(column.why.starts_with("b(8, 4) is nan") == (k == bad));
          for (const double x : column_of(found.x, n, k)) {
            if (k == bad)
              CHECK(std::isnan(x));
            else
              CHECK(std::fabs(x - static_cast<double>(k % 5 + 1)) <= 0.1);
          }
        }
      }
}

TEST_CASE("a function for b is called once where the small solver gives way",
          "[solve][right-hand-sides]") {
  const Communicator self = Communicator::duplicate(MPI_COMM_SELF);
  constexpr std::int64_t n = 45;
  const Exact s{n};
  const auto equal_rows = [&](auto i, auto j) { return s.a(i == 20 ? 3 : i, j); };
  for (const std::int64_t count : {1, 9, 600}) {
    const Counted of_singular(count, [&](auto i, auto k) { return s.b(i, k); });
    try {
      solve(MPI_COMM_SELF, Matrix::from_function(n, equal_rows), of_singular.side(),
            small_options());
    } catch (const SingularError&) {  // where both equal rows happen to be rounded equally
    } catch (const AccuracyError&) {
    }
    of_singular.check_calls(self, n);
    const Exact bad{n, 0};
    const Counted with_nan(count, [&](auto i, auto k) { return bad.b(i, k); });
    const auto refused = [&] {
      solve(MPI_COMM_SELF, s.matrix(), with_nan.side(), small_options());
    };
    if (count == 1)
      CHECK_THROWS_AS(refused(), UsageError);
    else
      CHECK_THROWS_AS(refused(), AccuracyError);
    with_nan.check_calls(self, n);
  }
}

TEST_CASE("where every column of b is bad, the first one's entry is named",
          "[solve][right-hand-sides]") {
  constexpr std::int64_t n = 9;
  const Exact s{n};
  for (const std::int64_t count : {1, 3, 10}) {
    const auto b = [=](std::int64_t i, std::int64_t k) {
      return i == (k + 4) % n ? (k % 2 == 0 ? not_a_number : HUGE_VAL) : 1;
    };
    const std::vector<double> array = dense(n, count, n, b);
    for (const GridShape shape : few_grids(world().size()))
      for (const RightHandSide& side :
           {RightHandSide::from_function(count, b), RightHandSide::dense(count, array.data(), n)}) {
        CAPTURE(shape.nprow, shape.npcol, count);
        CHECK(refusal(world(), [&] {
                solve(MPI_COMM_WORLD, s.matrix(), side, options(shape, 2));
              }).starts_with("b(5, 1) is nan"));
        CHECK(refusal(world(), [&] {
                Factorization(MPI_COMM_WORLD, s.matrix(), options(shape, 2)).solve(side);
              }).starts_with("b(5, 1) is nan"));
      }
    CHECK(refusal(world(), [&] {
            solve(MPI_COMM_SELF, s.matrix(), RightHandSide::from_function(count, b),
                  small_options());
          }).starts_with("b(5, 1) is nan"));
  }
}

TEST_CASE("solves with the same factors leave nothing behind", "[solve][many][right-hand-sides]") {
  constexpr std::int64_t n = 21;
  const Exact s{n};
  const Exact all_zero{.n = n, .zero_column = 0};
  const auto check = [&](MPI_Comm comm, const SolveOptions& o) {
    Factorization factors(comm, s.matrix(), o);
    bool first = true;
    const auto solve_again = [&](const Exact& system, std::int64_t count) {
      CAPTURE(count, first);
      std::string words;
      const Solution found = best_of([&] { return factors.solve(system.function(count)); }, words);
      Factorization fresh(comm, s.matrix(), o);
      const Solution expected = best_of([&] { return fresh.solve(system.function(count)); }, words);
      REQUIRE(found.x.size() == expected.x.size());
      CHECK(std::memcmp(found.x.data(), expected.x.data(), found.x.size() * sizeof(double)) == 0);
      REQUIRE(found.columns.size() == expected.columns.size());
      for (std::size_t k = 0; k < found.columns.size(); ++k) {
        const SolveColumn& mine = found.columns[k];
        const SolveColumn& its = expected.columns[k];
        CHECK(mine.why == its.why);
        CHECK(mine.converged == its.converged);
        CHECK(mine.iterations == its.iterations);
        CHECK((mine.componentwise_error == its.componentwise_error ||
               std::isnan(its.componentwise_error)));
        CHECK((mine.forward_bound <= its.forward_bound * 3 + 2 * eps || !mine.converged));
      }
      CHECK(found.converged == expected.converged);
      REQUIRE(found.steps.size() == 1);
      CHECK(found.steps[0].iterations == expected.steps[0].iterations);
      // For a bad b the solver of large systems factors a small A anew, beside its own factors.
      if (comm == MPI_COMM_WORLD) CHECK((found.steps[0].factor_seconds > 0) == first);
      CHECK(found.condition == Approx(expected.condition));
      first = false;
    };
    const auto refuse = [&] {
      CHECK_THROWS_AS(
          factors.solve(RightHandSide::from_function(11, [](auto, auto) { return not_a_number; })),
          UsageError);
    };
    solve_again({n, 1, 2}, 4);
    solve_again(s, 4);
    solve_again(all_zero, 1);  // there is nothing to bound
    refuse();
    solve_again(s, 1);
    solve_again(s, 17);
    solve_again({n, 16, 0, 3}, 17);
    refuse();
    if (!emulated()) solve_again(s, 300);
    solve_again(s, 9);
    solve_again(all_zero, 1);
  };
  const GridShape shape = squarest_grid(world().size());
  for (const Precision precision : {Precision::bf16, Precision::fp32, Precision::fp64}) {
    if (emulated() && precision == Precision::fp32) continue;
    CAPTURE(shape.nprow, shape.npcol, name(precision));
    check(MPI_COMM_WORLD, options(shape, 4, precision));
  }
  if (!emulated()) check(MPI_COMM_SELF, small_options());
}
}  // namespace speedwell::test::right_hand_sides_tests
