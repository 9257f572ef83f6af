// SPDX-License-Identifier: BSD-3-Clause
// speedwell::solve and speedwell::Factorization in special cases: singular matrices, several
// right-hand sides, several solves, tolerances, and every form in which a system may be given.
#include <speedwell/solve.hpp>

#include <algorithm>
#include <cmath>
#include <span>
#include <string>

#include "catch.hpp"
#include "judge.hpp"
#include "world.hpp"

namespace speedwell::test::solve_cases_tests {
namespace {

Example random_example(std::int64_t order, std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  const std::int64_t n = std::min(order, largest_order());
  Plain b(n, count);
  for (double& value : b.data) value = random();
  return {"random", random_matrix(n, seed + 1), b};
}

Solution solved(const Example& e, const SolveOptions& options) {
  return solve(MPI_COMM_WORLD, given(e.a), given(e.b), options);
}

/// What a solve says against its x: a doubt, or that A is singular.
std::string word_on(const Example& e, const SolveOptions& options) {
  try {
    return solved(e, options).doubt;
  } catch (const SingularError& error) {
    return error.what();
  }
}

/// Checks the solution on the rank that has x.
void judge(const Example& e, const Solution& solution, const SolveOptions& options) {
  if (world().rank() == 0) Reference(e).judge(solution, options);
}

}  // namespace

TEST_CASE("a singular matrix is reported with the pivot that dgesv names", "[solve]") {
  for (const GridShape shape : grids(world().size()))
    for (const SingularExample& e : singular_gallery())
      for (const bool equilibrate : {true, false})
        for (const Precision precision : {Precision::automatic, Precision::fp64}) {
          CAPTURE(e.name, e.a.n, e.pivot, equilibrate, name(precision), shape.nprow, shape.npcol);
          SolveOptions options = solve_options(shape, 8, precision);
          options.equilibrate = equilibrate;
          try {
            Factorization factorization(MPI_COMM_WORLD, given(e.a), options);
            factorization.solve(RightHandSide::of_ones());
            FAIL("not found singular");
          } catch (const SingularError& error) {
            CHECK(error.pivot() == e.pivot);
            CHECK_THAT(error.what(), ContainsSubstring("singular"));
          }
        }
}

TEST_CASE("a singular matrix is reported with that pivot as a small system too", "[solve][small]") {
  if (world().rank() != 0) return;
  for (const SingularExample& e : singular_gallery())
    for (const bool equilibrate : {true, false}) {
      CAPTURE(e.name, e.a.n, e.pivot, equilibrate);
      SolveOptions options;
      options.run.device = DeviceKind::cpu;
      options.equilibrate = equilibrate;
      std::int64_t pivot = -1;
      try {
        solve(MPI_COMM_SELF, given(e.a), given(Plain(e.a.n, 1)), options);
      } catch (const SingularError& error) {
        pivot = error.pivot();
      }
      CHECK(pivot == e.pivot);
    }
}

TEST_CASE("a singular matrix is an error in a step of fixed low precision", "[solve]") {
  const GridShape shape = grids(world().size()).front();
  for (const SingularExample& e : singular_gallery())
    for (const Precision precision :
         {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32}) {
      CAPTURE(e.name, e.a.n, name(precision));
      const SolveOptions options = solve_options(shape, 8, precision);
      CHECK_THROWS_AS(solve(MPI_COMM_WORLD, given(e.a), given(Plain(e.a.n, 1)), options), Error);
    }
}

TEST_CASE("a matrix that is singular up to rounding is solved or reported as singular", "[solve]") {
  // As in dgesv, the last pivot may be zero, or a rounding error by which elimination divides.
  const GridShape shape = grids(world().size()).back();
  Example e = random_example(61, 1, 31);
  for (std::int64_t j = 0; j < e.a.n; ++j) e.a(17, j) = e.a(7, j);
  try {
    const Solution solution = solved(e, solve_options(shape, 8));
    CHECK(solution.converged);
    CHECK(solution.condition > 1e14);
    CHECK(solution.precision() == Precision::fp64);
  } catch (const SingularError& error) {
    CHECK(error.pivot() == e.a.n - 1);
  }
}

TEST_CASE("factors that hide a singular matrix are not believed", "[solve]") {
  // [[W, d], [b^T, c]] with c = b^T W^-1 d, rounded once: W is well-conditioned, but its entries
  // grow by 2^39 in elimination, so that the last pivot in FP32 is noise that looks like a good
  // one.
  const GridShape shape = grids(world().size()).back();
  const std::int64_t m = 40;
  if (m >= largest_order()) return;
  Square w(m);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < m; ++j) w(i, j) = j == m - 1 || i == j ? 1. : i > j ? -1. : 0.;
  const Inverse inverse(w);
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    CAPTURE(seed);
    Random random(seed);
    Plain d(m, 1);
    Plain b(m, 1);
    for (std::int64_t i = 0; i < m; ++i) {
      d(i, 0) = random();
      b(i, 0) = random();
    }
    const std::vector<Quad> z = inverse.times(d.data);
    Quad c = 0;
    for (std::int64_t i = 0; i < m; ++i) c += b(i, 0) * z[static_cast<std::size_t>(i)];
    Example e{"bordered", Square(m + 1), Plain(m + 1, 1)};
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < m; ++j) e.a(i, j) = w(i, j);
      e.a(i, m) = d(i, 0);
      e.a(m, i) = b(i, 0);
    }
    e.a(m, m) = static_cast<double>(c);
    for (double& value : e.b.data) value = random();
    CHECK_FALSE(word_on(e, solve_options(shape, 64)).empty());
  }
}

TEST_CASE("several right-hand sides, some of them zero", "[solve]") {
  for (const GridShape shape : grids(world().size())) {
    Example e = random_example(97, 5, 32);
    const SolveOptions options = solve_options(shape, 16);
    for (const std::int64_t zero : {1, 4})
      for (std::int64_t i = 0; i < e.a.n; ++i) e.b(i, zero) = 0;
    for (std::int64_t i = 0; i < e.a.n; ++i) e.b(i, 2) *= 1e-250;
    const Solution solution = solved(e, options);
    judge(e, solution, options);
    for (const std::size_t zero : {1u, 4u}) {
      const SolveColumn& column = solution.columns[zero];
      CHECK(column.iterations <= 1);
      CHECK(column.componentwise_error == 0);
      CHECK(column.backward_error == 0);
      CHECK(column.forward_bound == 0);
      const std::size_t n = solution.x.size() / 5;
      for (const double x : std::span(solution.x).subspan(n == 0 ? 0 : zero * n, n)) CHECK(x == 0);
    }
  }
}

TEST_CASE("a right-hand side of ones", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  const Example e = random_example(97, 1, 33);
  const Solution solution =
      solve(MPI_COMM_WORLD, given(e.a), RightHandSide::of_ones(), solve_options(shape, 16));
  REQUIRE(std::ssize(solution.x) == e.a.n);
  for (const double x : solution.x)
    CHECK(std::fabs(x - 1) <=
          solution.columns[0].forward_bound + double(e.a.n) * eps * solution.condition);
}

TEST_CASE("a tolerance ends the refinement", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  const Example e = random_example(97, 2, 34);
  int before = 1000;
  for (const double tolerance : {0.0, 1e-12, 1e-3}) {
    SolveOptions options = solve_options(shape, 16);
    options.tolerance = tolerance;
    CAPTURE(tolerance);
    const Solution solution = solved(e, options);
    judge(e, solution, options);
    CHECK(solution.precision() == solution.steps.front().precision);
    CHECK(solution.steps.back().iterations <= before);
    before = solution.steps.back().iterations;
  }
  SolveOptions impossible = solve_options(shape, 16);
  impossible.tolerance = 1e-20;
  try {
    solved(e, impossible);
    FAIL("no x has an error of 1e-20");
  } catch (const AccuracyError& error) {
    CHECK_FALSE(error.best().converged);
    judge(e, error.best(), impossible);
  }
}

TEST_CASE("a refinement method that is asked for is used", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  const Example e = random_example(61, 2, 35);
  for (const RefineMethod method : {RefineMethod::ir, RefineMethod::gmres}) {
    SolveOptions options = solve_options(shape, 8);
    options.refine = method;
    const Solution solution = solved(e, options);
    judge(e, solution, options);
    for (const SolveColumn& column : solution.columns) CHECK(column.method == method);
  }
}

TEST_CASE("without equilibration entries beyond FP32's range are solved too", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  for (const double scale : {1e300, 1e-290, 1e39, 1e-46}) {
    Example e = random_example(61, 2, 36);
    for (double& value : e.a.data) value *= scale;
    SolveOptions options = solve_options(shape, 8);
    options.equilibrate = false;
    CAPTURE(scale);
    const Solution solution = solved(e, options);
    judge(e, solution, options);
    CHECK_FALSE(solution.equilibrated);
    // Near the ends of FP64's range all of A gets one scale, with which FP32 may do.
    if (scale == 1e39 || scale == 1e-46) CHECK(solution.precision() == Precision::fp64);
  }
}

TEST_CASE("factored once, solved many times", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  Example e = random_example(97, 2, 37);
  const SolveOptions options = solve_options(shape, 16);
  Factorization factorization(MPI_COMM_WORLD, given(e.a), options);
  CHECK(factorization.n() == e.a.n);
  const Solution first = factorization.solve(given(e.b));
  judge(e, first, options);
  CHECK(first.x == solved(e, options).x);
  Random random(38);
  for (int time = 0; time < 3; ++time) {
    for (double& value : e.b.data) value = random();
    const Solution next = factorization.solve(given(e.b));
    judge(e, next, options);
    CAPTURE(next.steps[0].why, next.condition);
    REQUIRE(next.steps.size() == 1);
    CHECK(next.steps[0].factor_seconds == 0);
    CHECK(next.precision() == first.precision());
    CHECK(next.condition == first.condition);
  }
}

TEST_CASE("factors of a later step are kept for the next solve", "[solve]") {
  const GridShape shape = grids(world().size()).back();
  const std::int64_t n = std::min<std::int64_t>(61, largest_order());
  Example e{"ill conditioned", with_singular_values(geometric(n, 1e14), 39), Plain(n, 1)};
  Random random(40);
  for (double& value : e.b.data) value = random();
  SolveOptions options = solve_options(shape, 8);
  options.condition = ConditionCheck::off;  // the condition number would end the first step at once
  options.max_iterations = 5;               // with some 60, GMRES may succeed with any factors
  Factorization factorization(MPI_COMM_WORLD, given(e.a), options);
  // Any factors give x = 0.
  const Solution easy = factorization.solve(given(Plain(n, 1)));
  CHECK(easy.steps.size() == 1);
  const Solution hard = factorization.solve(given(e.b));
  judge(e, hard, options);
  CHECK(unit_roundoff(hard.precision()) < unit_roundoff(easy.precision()));
  const Solution again = factorization.solve(given(e.b));
  CHECK(again.x == hard.x);
  REQUIRE(again.steps.size() == 1);
  CHECK(again.steps[0].factor_seconds == 0);
  CHECK(again.columns[0].precision == hard.precision());
}

namespace {

/// The rank's part of a block-cyclic matrix, by the definition of the distribution, with a gap
/// below each column.
struct BlockCyclic {
  BlockCyclic(const Plain& a, const ProcessGrid& grid, std::int64_t mb, std::int64_t nb);
  std::int64_t ld;
  std::vector<double> local;
  Descriptor descriptor;
};

BlockCyclic::BlockCyclic(const Plain& a, const ProcessGrid& grid, std::int64_t mb, std::int64_t nb)
    : ld(0), descriptor{1, -1, a.rows, a.columns, mb, nb, 0, 0, 0} {
  std::vector<std::int64_t> rows;
  const auto mine = [](std::int64_t i, std::int64_t block, std::int64_t ranks, std::int64_t rank) {
    return i / block % ranks == rank;
  };
  for (std::int64_t i = 0; i < a.rows; ++i)
    if (mine(i, mb, grid.shape().nprow, grid.column().rank())) rows.push_back(i);
  ld = std::ssize(rows) + 3;
  descriptor[8] = ld;
  for (std::int64_t j = 0; j < a.columns; ++j) {
    if (!mine(j, nb, grid.shape().npcol, grid.row().rank())) continue;
    for (const std::int64_t i : rows) local.push_back(a(i, j));
    local.insert(local.end(), 3, std::nan(""));
  }
}

}  // namespace

TEST_CASE("a system has the same solution in whatever form it is given", "[solve]") {
  const Communicator all = world();
  const std::int64_t nb = 8;
  const Example e = random_example(61, 2, 41);
  const std::int64_t n = e.a.n;
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol, name(shape.order));
    const SolveOptions options = solve_options(shape, nb);
    const ProcessGrid grid(all, shape);
    const auto element = [](const Plain& m) {
      return [&m](std::int64_t i, std::int64_t j) { return m(i, j); };
    };
    const auto solution = [&](const Matrix& a) {
      return solve(MPI_COMM_WORLD, a, RightHandSide::from_function(2, element(e.b)), options);
    };
    const Solution first = solution(Matrix::from_function(n, element(e.a)));
    if (all.rank() == 0) Reference(e).judge(first, options);
    const BlockCyclic part(e.a, grid, nb, nb);
    CHECK(solution(Matrix::block_cyclic(part.descriptor, part.local.data())).x == first.x);
    for (int root = 0; root < all.size(); ++root) {
      const bool mine = all.rank() == root;
      CHECK(solution(Matrix::dense(n, mine ? e.a.data.data() : nullptr, n, root)).x == first.x);
      const auto b = RightHandSide::dense(2, mine ? e.b.data.data() : nullptr, n, root);
      const Solution there = solve(MPI_COMM_WORLD, given(e.a), b, options);
      CHECK(there.x == (mine ? first.x : std::vector<double>()));
    }
    for (const auto& [mb, kb] : {std::pair{8, 8}, std::pair{5, 1}, std::pair{100, 2}}) {
      const BlockCyclic b(e.b, grid, mb, kb);
      const Solution there =
          solve(MPI_COMM_WORLD, given(e.a),
                RightHandSide::block_cyclic(b.descriptor, b.local.data()), options);
      Plain x(n, 2);
      x.data = first.x;
      const BlockCyclic wanted(x, grid, mb, kb);
      REQUIRE(there.x.size() + 3 >= wanted.local.size());
      for (std::size_t i = 0; i < wanted.local.size(); ++i)
        if (!std::isnan(wanted.local[i])) CHECK(there.x[i] == wanted.local[i]);
    }
  }
}
}  // namespace speedwell::test::solve_cases_tests
