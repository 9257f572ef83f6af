// SPDX-License-Identifier: BSD-3-Clause
// Parts of the solver, and speedwell::solve on small systems. tests/accuracy compares it with
// LAPACK.
#include <speedwell/solve.hpp>

#include <cmath>
#include <limits>
#include <numeric>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "device_choice.hpp"
#include "pipeline.hpp"
#include "refine/inverse.hpp"
#include "solve/equilibration.hpp"

namespace speedwell::test::solve_tests {
namespace {

std::vector<GridShape> all_grids() {
  return grids(Communicator::duplicate(MPI_COMM_WORLD).size());
}

/// A dense matrix without structure. A large shift of its diagonal makes it well conditioned.
ElementFunction waves(double shift) {
  return [shift](std::int64_t i, std::int64_t j) {
    return std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j)) + (i == j ? shift : 0);
  };
}

Square whole(std::int64_t n, const ElementFunction& element) {
  Square a(n);
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) a(i, j) = element(i, j);
  return a;
}

Solution solve_with(const ElementFunction& a, std::int64_t n, const SolveOptions& o) {
  return solve(MPI_COMM_WORLD, Matrix::from_function(n, a), RightHandSide::of_ones(), o);
}

/// Checks a solution whose exact x is ones, and the errors that it reports.
void check_ones(const Solution& s, std::int64_t n) {
  REQUIRE(s.converged);
  REQUIRE(std::ssize(s.x) == n);
  const SolveColumn& column = s.columns.at(0);
  CHECK(column.converged);
  CHECK(column.componentwise_error <= std::max(4., std::sqrt(static_cast<double>(n))) * eps);
  if (s.condition_at_least)
    CHECK(std::isinf(column.forward_bound));
  else
    CHECK(column.forward_bound <= 10 * static_cast<double>(n + 2) * eps * s.condition);
  // Rounding of b moves x off ones, within the bound.
  for (const double x : s.x) CHECK(std::fabs(x - 1) <= column.forward_bound + 2 * eps);
}

/// ||A^-1|| in the infinity norm, of the inverse by plain elimination.
double inverse_norm(const Square& a) {
  Square lu = a;
  std::vector<std::int64_t> order(static_cast<std::size_t>(a.n));
  std::iota(order.begin(), order.end(), 0);
  Square inverse(a.n);
  for (std::int64_t i = 0; i < a.n; ++i) inverse(i, i) = 1;
  for (std::int64_t k = 0; k < a.n; ++k) {  // Gauss-Jordan with pivoting
    std::int64_t p = k;
    for (std::int64_t i = k + 1; i < a.n; ++i)
      if (std::fabs(lu(i, k)) > std::fabs(lu(p, k))) p = i;
    for (std::int64_t j = 0; j < a.n; ++j) {
      std::swap(lu(k, j), lu(p, j));
      std::swap(inverse(k, j), inverse(p, j));
    }
    const double pivot = lu(k, k);
    for (std::int64_t j = 0; j < a.n; ++j) {
      lu(k, j) /= pivot;
      inverse(k, j) /= pivot;
    }
    for (std::int64_t i = 0; i < a.n; ++i) {
      const double factor = lu(i, k);
      if (i == k || factor == 0) continue;
      for (std::int64_t j = 0; j < a.n; ++j) {
        lu(i, j) -= factor * lu(k, j);
        inverse(i, j) -= factor * inverse(k, j);
      }
    }
  }
  double most = 0;
  for (std::int64_t i = 0; i < a.n; ++i) {
    double sum = 0;
    for (std::int64_t j = 0; j < a.n; ++j) sum += std::fabs(inverse(i, j));
    most = std::max(most, sum);
  }
  return most;
}

}  // namespace

TEST_CASE("every step solves on every grid, odd sizes", "[solve]") {
  for (const GridShape shape : all_grids())
    for (const auto& [n, nb] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 4}, {2, 1}, {3, 8}, {37, 5}, {101, 16}})
      for (const Precision precision : {Precision::automatic, Precision::fp16, Precision::bf16,
                                        Precision::fp16x3, Precision::fp32, Precision::fp64}) {
        if (device_choice().device == DeviceKind::cuda && n > 100 && precision != Precision::fp16)
          continue;  // emulated GPUs are slow
        CAPTURE(shape.nprow, shape.npcol, n, nb, name(precision));
        const Solution s = solve_with(waves(8), n, options(shape, nb, precision));
        check_ones(s, n);
        REQUIRE(s.steps.size() == 1);
        CHECK(s.steps[0].solved);
        CHECK(s.columns[0].precision == s.steps[0].precision);
        if (precision != Precision::automatic) CHECK(s.steps[0].precision == precision);
      }
}

TEST_CASE("solves with the transposed factors", "[solve][many]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb, width] : std::vector<std::array<std::int64_t, 3>>{
             {1, 2, 2}, {3, 1, 1}, {64, 16, 16}, {97, 10, 4}, {50, 64, 64}}) {
      CAPTURE(shape.nprow, shape.npcol, n, nb, width);
      BenchmarkOptions o;
      o.n = n;
      o.run.nb = nb;
      o.matrix = MatrixKind::hpl;
      Problem p(all, shape, o, Precision::fp64);
      const Square a = test::whole(p.spec());
      REQUIRE(
          p.factor({.width = width, .precision = Precision::fp64, .pivoting = Pivoting::partial})
              .usable());
      LuSolver solver(p.transport, p.a, width, p.pivots);
      Vector r;
      for (std::int64_t i = 0; i < n; ++i) r.push_back(1 + static_cast<double>(i % 7));
      const Vector d =
          VectorSpace(p.grid, Layout::rows)
              .gather(p.a.rows(), solver.solve_transposed(local_part(p.a.columns(), r)));
      const double allowed = 1e3 * static_cast<double>(n) * eps * inverse_norm(a) * 8;
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t i = 0; i < n; ++i) sum += a(i, j) * d[static_cast<std::size_t>(i)];
        CHECK(std::fabs(sum - r[static_cast<std::size_t>(j)]) <= allowed);
      }
      // The transposed solve has undone its row exchanges, so that a plain solve still works.
      const Vector x = VectorSpace(p.grid, Layout::columns)
                           .gather(p.a.columns(), solver.solve(local_part(p.a.rows(), r)));
      for (std::int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (std::int64_t j = 0; j < n; ++j) sum += a(i, j) * x[static_cast<std::size_t>(j)];
        CHECK(std::fabs(sum - r[static_cast<std::size_t>(i)]) <= allowed);
      }
    }
}

TEST_CASE("the condition number does not depend on the precision of the factors", "[solve]") {
  for (const GridShape shape : all_grids())
    for (const double shift : {0., 0.3, 8.})
      for (const Precision precision : {Precision::fp16, Precision::fp32, Precision::fp64}) {
        const std::int64_t n = device_choice().device == DeviceKind::cuda ? 29 : 83;
        CAPTURE(shape.nprow, shape.npcol, shift, name(precision));
        SolveOptions o = options(shape, 9, precision);
        o.equilibrate = false;
        const Solution s = solve_with(waves(shift), n, o);
        check_ones(s, n);
        const Square a = whole(n, waves(shift));
        double norm = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          double sum = 0;
          for (std::int64_t j = 0; j < n; ++j) sum += std::fabs(a(i, j));
          norm = std::max(norm, sum);
        }
        CHECK(s.norm_a == Approx(norm));
        const double condition = norm * inverse_norm(a);
        CHECK(s.condition <= 1.3 * condition);  // the products are correct to one digit
        CHECK(s.condition >= condition / 4);
      }
}

namespace {

/// R W C, W well scaled, R and C diagonal. Their entries are powers of ten, with exponents -2 to 2
/// times of_rows and of_columns.
struct BadlyScaled {
  int of_rows = 0;
  int of_columns = 0;

  static double size(int exponent, std::int64_t i) {
    return std::pow(10., exponent * (static_cast<int>(i % 5) - 2));
  }
  double row(std::int64_t i) const { return size(of_rows, i); }
  double column(std::int64_t j) const { return size(of_columns, j / 5); }
  double operator()(std::int64_t i, std::int64_t j) const {
    return waves(8)(i, j) * row(i) * column(j);
  }
};

void check_scaled(const Equilibration& e, const BadlyScaled& a, std::int64_t n) {
  const auto magnitude = [&](std::int64_t i, std::int64_t j) {
    const int exponent =
        e.rows[static_cast<std::size_t>(i)] + e.columns[static_cast<std::size_t>(j)];
    return std::fabs(std::ldexp(static_cast<long double>(a(i, j)), exponent));
  };
  for (std::int64_t k = 0; k < n; ++k) {
    long double row = 0;
    long double column = 0;
    for (std::int64_t l = 0; l < n; ++l) {
      row = std::max(row, magnitude(k, l));
      column = std::max(column, magnitude(l, k));
    }
    CHECK((column >= 0.5L && column < 1));
    CHECK((row > 0.01L && row < 1));
    CHECK(std::abs(e.rows[static_cast<std::size_t>(k)]) <= 1024);
    CHECK(std::abs(e.columns[static_cast<std::size_t>(k)]) <= 2044);
  }
}

}  // namespace

TEST_CASE("scales bring every row and column near one", "[solve]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  constexpr std::int64_t n = 41;
  for (const GridShape shape : grids(all.size()))
    for (const BadlyScaled a : {BadlyScaled{50, 50}, BadlyScaled{100, 0}, BadlyScaled{0, 100},
                                BadlyScaled{150, 0}, BadlyScaled{0, 150}}) {
      CAPTURE(shape.nprow, shape.npcol, a.of_rows, a.of_columns);
      const ProcessGrid grid(all, shape);
      const auto device = make_chosen_device();
      const Matrix matrix = Matrix::from_function(n, a);
      const Equilibration e = equilibrate(
          grid, *device, UserMatrix(grid, *device, matrix.source(), 4), Scaling::rows_first);
      REQUIRE(e.scales());
      check_scaled(e, a, n);
      // C x = ones.
      const Solution s = solve(MPI_COMM_WORLD, matrix,
                               RightHandSide::from_function(1,
                                                            [&](auto i, auto) {
                                                              double sum = 0;
                                                              for (std::int64_t j = 0; j < n; ++j)
                                                                sum += waves(8)(i, j);
                                                              return a.row(i) * sum;
                                                            }),
                               options(shape, 4, Precision::fp16));
      CHECK(s.equilibrated);
      CHECK(s.columns[0].method == RefineMethod::ir);
      CHECK(s.columns[0].forward_bound < 1e-11);
      for (std::int64_t j = 0; j < n; ++j)
        CHECK(s.x[static_cast<std::size_t>(j)] * a.column(j) == Approx(1).epsilon(1e-12));
    }
}

TEST_CASE("a singular matrix is reported with its pivot, even where A x = b has a solution",
          "[solve]") {
  constexpr std::int64_t n = 45;
  struct Case {
    const char* what;
    ElementFunction a;
    std::int64_t pivot;
  };
  const std::vector<Case> cases{
      {"zero", [](auto, auto) { return 0.; }, 0},
      {"zero row", [](auto i, auto j) { return i == 7 ? 0 : waves(8)(i, j); }, n - 1},
      {"zero column", [](auto i, auto j) { return j == 7 ? 0 : waves(8)(i, j); }, 7},
      {"rank 1",
       [](auto i, auto j) { return std::ldexp(1.0, static_cast<int>(7 * i % 5 - j % 3)); }, 1}};
  for (const GridShape shape : all_grids())
    for (const Case& c : cases) {
      CAPTURE(shape.nprow, shape.npcol, c.what);
      for (const Precision precision : {Precision::automatic, Precision::fp64}) {
        std::int64_t pivot = -1;
        try {
          solve_with(c.a, n, options(shape, 8, precision));
        } catch (const SingularError& error) {
          pivot = error.pivot();
          CHECK(std::string(error.what()).find('\n') == std::string::npos);
        }
        CHECK(pivot == c.pivot);
      }
    }
}

TEST_CASE("a matrix whose pivot underflows beside its scales is not called singular", "[solve]") {
  // Its determinant is -4e-289. Beside 4e238 in its column, and 2e249 in its row, 4e-289 is
  // nothing.
  constexpr double elements[3][3] = {{-1, 4e238, 0}, {0, 4e-289, 2e249}, {0, 0, 1}};
  const auto matrix = [&](auto i, auto j) { return elements[i][j]; };
  const auto transposed = [&](auto i, auto j) { return elements[j][i]; };
  const auto right = [](auto i, auto) { return i == 0 ? 1. : 0.; };
  for (const GridShape shape : all_grids())
    for (const ElementFunction& a : {ElementFunction(matrix), ElementFunction(transposed)}) {
      CAPTURE(shape.nprow, shape.npcol);
      const Solution s =
          solve(MPI_COMM_WORLD, Matrix::from_function(3, a), RightHandSide::from_function(1, right),
                options(shape, 1, Precision::fp64));
      CHECK((!s.doubt.empty() || std::fabs(s.x[0] + 1) < 1e-14));
    }
}

TEST_CASE("a matrix that is singular up to rounding is solved with a warning", "[solve]") {
  constexpr std::int64_t n = 45;
  const auto equal_rows = [](auto i, auto j) { return waves(8)(i == 20 ? 3 : i, j); };
  for (const GridShape shape : all_grids()) {
    CAPTURE(shape.nprow, shape.npcol);
    try {
      const Solution s = solve_with(equal_rows, n, options(shape, 8));
      CHECK(s.columns[0].componentwise_error <= std::sqrt(45.) * eps);
      CHECK(s.steps.back().precision == Precision::fp64);
      CHECK(s.condition * eps > 0.01);
      CHECK(s.columns[0].forward_bound > 1);
      CHECK(s.doubt.find("singular to working precision") != std::string::npos);
    } catch (const SingularError& error) {  // where both equal rows happen to be rounded equally
      CHECK(error.pivot() == n - 1);
    }
  }
}

TEST_CASE("a step with too weak factors says why it failed, and its x is not accepted", "[solve]") {
  // The condition number is about 1e13. At order 10, ten steps of GMRES would find any solution.
  const auto hilbert = [](auto i, auto j) { return 1 / static_cast<double>(i + j + 1); };
  for (const GridShape shape : all_grids()) {
    CAPTURE(shape.nprow, shape.npcol);
    for (const Precision weak : {Precision::fp16, Precision::bf16}) {
      bool refused = false;
      try {
        SolveOptions o = options(shape, 3, weak);
        o.max_iterations = 5;
        solve_with(hilbert, 10, o);
      } catch (const AccuracyError& error) {
        refused = true;
        REQUIRE(error.best().steps.size() == 1);
        CHECK_FALSE(error.best().steps[0].solved);
        CHECK_FALSE(error.best().steps[0].why.empty());
        CHECK_FALSE(error.best().converged);
      }
      CHECK(refused);
    }
    // A condition number that weak factors cannot estimate must not look small.
    const Solution weak = [&] {
      try {
        return solve_with(hilbert, 60, options(shape, 16, Precision::bf16));
      } catch (const AccuracyError& error) {
        return error.best();
      }
    }();
    CHECK_FALSE((weak.condition * eps < 0.1 && !weak.condition_at_least));
    SolveOptions o = options(shape, 3);
    o.max_iterations = 5;
    const Solution s = solve_with(hilbert, 10, o);
    check_ones(s, 10);
    CHECK(s.steps.size() > 1);
    CHECK(s.steps.back().solved);
    for (std::size_t i = 0; i + 1 < s.steps.size(); ++i) CHECK_FALSE(s.steps[i].why.empty());
  }
}

TEST_CASE("factor once, solve many", "[solve][many]") {
  constexpr std::int64_t n = 70;
  for (const GridShape shape : all_grids()) {
    CAPTURE(shape.nprow, shape.npcol);
    Factorization f(MPI_COMM_WORLD, Matrix::from_function(n, waves(8)), options(shape, 11));
    CHECK(f.n() == n);
    const Solution first = f.solve(RightHandSide::of_ones());
    check_ones(first, n);
    CHECK(first.steps.at(0).factor_seconds > 0);
    double in_steps = 0;
    for (const SolveStep& step : first.steps) in_steps += step.factor_seconds + step.refine_seconds;
    CHECK(first.seconds > in_steps);  // by the time of finding the scales
    const Solution second = f.solve(RightHandSide::of_ones());
    CHECK(second.x == first.x);
    REQUIRE(second.steps.size() == 1);
    CHECK(second.steps[0].factor_seconds == 0);
    CHECK(second.seconds == second.steps[0].refine_seconds);
    CHECK(second.condition == first.condition);
    // Several right-hand sides at once, one zero, one huge and one tiny, do not affect each other.
    const auto sizes = std::array{1., 0., 1.3e308, 1e-300};
    const Solution several = f.solve(RightHandSide::from_function(4, [&](auto i, auto k) {
      return sizes[static_cast<std::size_t>(k)] * (static_cast<double>(i % 3) - 0.75);
    }));
    REQUIRE(several.converged);
    REQUIRE(several.columns.size() == 4);
    REQUIRE(std::ssize(several.x) == 4 * n);
    const auto x = [&](std::int64_t i, std::int64_t k) {
      return several.x[static_cast<std::size_t>(i + k * n)];
    };
    for (std::int64_t i = 0; i < n; ++i) {
      CHECK(x(i, 1) == 0);
      CHECK(x(i, 2) == Approx(1.3e308 * x(i, 0)).epsilon(1e-11));
      CHECK(x(i, 3) == Approx(1e-300 * x(i, 0)).epsilon(1e-11));
    }
    CHECK(several.columns[1].forward_bound == 0);
    CHECK(several.columns[1].hpl_residual == 0);
  }
}

TEST_CASE("Inf and NaN are refused with their place", "[solve]") {
  const GridShape shape = all_grids().front();
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, -HUGE_VAL}) {
    std::string words;
    try {
      solve_with([&](auto i, auto j) { return i == 12 && j == 30 ? bad : waves(8)(i, j); }, 40,
                 options(shape, 7));
    } catch (const UsageError& error) {
      words = error.what();
    }
    CHECK(words.rfind("A(13, 31) is ", 0) == 0);
    words.clear();
    try {
      solve(MPI_COMM_WORLD, Matrix::from_function(40, waves(8)),
            RightHandSide::from_function(2, [&](auto i, auto k) { return i == 5 + k ? bad : 1; }),
            options(shape, 7));
    } catch (const UsageError& error) {
      words = error.what();
    }
    CHECK(words.rfind("b(6, 1) is ", 0) == 0);
  }
}

TEST_CASE("the tolerance ends the refinement, and x must meet it", "[solve][host]") {
  const GridShape shape = all_grids().front();
  SolveOptions loose = options(shape, 16, Precision::fp16);
  loose.tolerance = 1e-6;
  const Solution s = solve_with(waves(8), 90, loose);
  CHECK(s.columns[0].componentwise_error <= 1e-6);
  CHECK(s.columns[0].componentwise_error > 1e-15);
  CHECK(s.columns[0].iterations <
        solve_with(waves(8), 90, options(shape, 16, Precision::fp16)).columns[0].iterations);
  // Without a tolerance the refinement goes on while the error falls.
  SolveOptions by_default = options(shape, 16, Precision::fp16);
  const int gained = solve_with(waves(8), 90, by_default).columns[0].iterations;
  by_default.tolerance = default_tolerance(90);
  CHECK(solve_with(waves(8), 90, by_default).columns[0].iterations < gained);
  SolveOptions tight = options(shape, 16);
  tight.tolerance = 1e-20;
  CHECK_THROWS_AS(solve_with(waves(8), 90, tight), AccuracyError);
  for (const double bad : {-1., 1., std::numeric_limits<double>::quiet_NaN()}) {
    tight.tolerance = bad;
    CHECK_THROWS_AS(solve_with(waves(8), 90, tight), UsageError);
  }
}
}  // namespace speedwell::test::solve_tests
