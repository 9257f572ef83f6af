// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "clocks.hpp"
#include "core/numbers.hpp"
#include "pipeline.hpp"

namespace speedwell::test::refine_tests {
namespace {

RefineOutcome solve(Problem& p, Precision precision, RefineMethod method, int limit = 50) {
  const std::int64_t width = p.a.rows().block();
  REQUIRE(p.factor({.width = width, .precision = precision}).usable());
  return p.solve({method, limit, width});
}

BenchmarkOptions fasi_higham(std::int64_t n, std::int64_t nb, double kappa) {
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = nb;
  o.matrix = MatrixKind::fasi_higham;
  o.kappa = kappa;
  return o;
}

// The solution of A x = b by plain FP64 elimination with partial pivoting.
std::vector<double> plain_solve(Square a, std::vector<double> b) {
  const auto n = a.n;
  const auto at = [&](std::int64_t i) -> double& { return b[static_cast<std::size_t>(i)]; };
  for (std::int64_t k = 0; k < n; ++k) {
    std::int64_t pivot = k;
    for (std::int64_t i = k + 1; i < n; ++i)
      if (std::fabs(a(i, k)) > std::fabs(a(pivot, k))) pivot = i;
    for (std::int64_t j = 0; j < n; ++j) std::swap(a(k, j), a(pivot, j));
    std::swap(at(k), at(pivot));
    for (std::int64_t i = k + 1; i < n; ++i) {
      const double l = a(i, k) / a(k, k);
      for (std::int64_t j = k; j < n; ++j) a(i, j) -= l * a(k, j);
      at(i) -= l * at(k);
    }
  }
  for (std::int64_t k = n - 1; k >= 0; --k) {
    for (std::int64_t j = k + 1; j < n; ++j) at(k) -= a(k, j) * at(j);
    at(k) /= a(k, k);
  }
  return b;
}

double worst_difference(const std::vector<double>& x, const std::vector<double>& y) {
  double difference = 0;
  double size = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    difference = std::max(difference, std::fabs(x[i] - y[i]));
    size = std::max(size, std::fabs(y[i]));
  }
  return difference / size;
}

}  // namespace

TEST_CASE("each method reaches FP64 accuracy from each precision", "[refine]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : few_grids(all.size()))
    for (const double kappa : {1e2, 1e3})
      for (const auto precision :
           {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32})
        for (const auto method : {RefineMethod::automatic, RefineMethod::ir, RefineMethod::gmres}) {
          CAPTURE(shape.nprow, shape.npcol, kappa, name(precision), name(method));
          Problem p(all, shape, fasi_higham(150, 16, kappa));
          const RefineOutcome out = solve(p, precision, method);
          CHECK(out.converged);
          CHECK(out.iterations <= 12);
          CHECK(out.history.back() < 1);
          const SystemNorms norms = p.norms(out.x);
          CHECK(scaled_residual(norms, 150) < 1);
          CHECK(norms.a == Approx(fasi_higham_norm(150, p.spec().alpha, p.spec().beta)));
          const auto x = gather(p.grid, p.a.columns(), out.x);
          const auto plain = plain_solve(whole(p.spec()), right_hand_side(p.spec()));
          CHECK(worst_difference(x, plain) <= 10 * kappa * 150 * eps);
        }
}

TEST_CASE("refinement works for odd sizes, every matrix, and more ranks than blocks", "[refine]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {2, 5}, {3, 1}, {21, 7}, {97, 10}, {128, 64}})
      for (const auto kind :
           {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham, MatrixKind::dominant}) {
        // Its dominance is not strict, so at these small orders it may be singular.
        if (n <= 3 && kind == MatrixKind::dominant) continue;
        CAPTURE(shape.nprow, shape.npcol, n, nb, name(kind));
        BenchmarkOptions o;
        o.n = n;
        o.run.nb = nb;
        o.matrix = kind;
        o.kappa = n == 1 ? o.kappa : 100;
        Problem p(all, shape, o);
        const RefineOutcome out = solve(p, Precision::fp16, RefineMethod::automatic);
        CHECK(out.converged);
        CHECK(out.method == RefineMethod::ir);
        CHECK(scaled_residual(p.norms(out.x), n) < 1);
        const auto x = gather(p.grid, p.a.columns(), out.x);
        const auto plain = plain_solve(whole(p.spec()), right_hand_side(p.spec()));
        CHECK(worst_difference(x, plain) <= 1e4 * static_cast<double>(n) * eps);
      }
}

TEST_CASE("GMRES solves with 16-bit factors where classical refinement fails", "[refine]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    Problem classic(all, shape, fasi_higham(200, 16, 3e5));
    Problem combined(all, shape, fasi_higham(200, 16, 3e5));
    const RefineOutcome ir = solve(classic, Precision::bf16, RefineMethod::ir);
    const RefineOutcome automatic = solve(combined, Precision::bf16, RefineMethod::automatic);
    CHECK_FALSE(ir.converged);
    CHECK(automatic.converged);
    CHECK(automatic.method == RefineMethod::gmres);
    CHECK(scaled_residual(combined.norms(automatic.x), 200) < 1);
  }
}

TEST_CASE("corrupted factors never end in a solution that is said to be accurate", "[refine]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto method : {RefineMethod::ir, RefineMethod::automatic, RefineMethod::gmres}) {
      CAPTURE(shape.nprow, shape.npcol, name(method));
      BenchmarkOptions o;
      o.n = 90;
      o.run.nb = 8;
      Problem p(all, shape, o);
      REQUIRE(p.factor({.width = 8, .broadcast = BroadcastMethod::ring}).usable());
      HostCopy factors(*p.device, p.a);
      for (std::int64_t g = 0; g < 90; g += 3)
        if (float* entry = factors.find({g}, {g})) *entry *= -5;
      factors.store();
      const RefineOutcome out = p.solve({method, 12, 8});
      const double measured = scaled_residual(p.norms(out.x), 90);
      CHECK(out.iterations <= 12);
      CHECK(out.converged == (measured < 1));
      CHECK_FALSE(out.converged);
      CHECK(measured > 16);
    }
}

TEST_CASE("norms that overflow or are infinite never give a small scaled residual", "[refine]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  CHECK(scaled_residual({4, 2, 1, eps}, 10) == Approx(1.0 / 90));
  CHECK_FALSE(scaled_residual({1e300, 1e300, 1, 1}, 10) < 16);
  CHECK_FALSE(scaled_residual({1, infinity, 1, 1}, 10) < 16);
  CHECK_FALSE(scaled_residual({1, infinity, 1, infinity}, 10) < 16);
  CHECK_FALSE(scaled_residual({1, 1, 1, infinity}, 10) < 16);
}

TEST_CASE("the limit on corrections holds", "[refine][host]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const auto method : {RefineMethod::ir, RefineMethod::automatic, RefineMethod::gmres})
    for (const int limit : {1, 2}) {
      Problem p(all, grids(all.size()).front(), fasi_higham(150, 16, 1e3));
      const RefineOutcome out = solve(p, Precision::bf16, method, limit);
      CAPTURE(name(method), limit);
      CHECK(out.iterations == limit);
      CHECK_FALSE(out.converged);
    }
}

namespace {

/// Refines with BF16 factors on a clock by which each solve and each product takes a second.
/// @param damaged entries of the factors' diagonal that are multiplied by different numbers: GMRES
///        needs about as many steps, and the first ones reduce the residual little
RefineOutcome refined(const GridShape& shape, double kappa, RefineMethod method, double worth,
                      std::int64_t damaged = 0) {
  const auto all = Communicator::duplicate(comm_world());
  constexpr std::int64_t n = 200;
  const CountingClock clock(1);
  Problem p(all, shape, fasi_higham(n, 16, kappa), Precision::fp32, clock);
  REQUIRE(p.factor({.width = 16, .precision = Precision::bf16}).usable());
  HostCopy factors(*p.device, p.a);
  const bool inverted = p.device->inverted_order(Precision::fp32) > 0;
  for (std::int64_t g = 0; g < damaged; ++g)
    if (float* entry = factors.find({g}, {g})) {
      const auto by = static_cast<float>(2 + g * 61 % n);
      *entry *= inverted ? 1 / by : by;
    }
  factors.store();
  return refine(p.transport, p.a, p.pivots, p.spec(),
                {.method = method, .width = 16, .worth = worth});
}

}  // namespace

TEST_CASE("a refinement whose forecast costs more than it is worth is given up", "[refine][host]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const GridShape shape = squarest_grid(Communicator::duplicate(comm_world()).size());
  for (const RefineMethod method : {RefineMethod::automatic, RefineMethod::gmres}) {
    CAPTURE(name(method));
    const RefineOutcome whole = refined(shape, 1e3, method, infinity, 200);
    CHECK(whole.forecast == 0);
    CHECK(whole.iterations > 30);
    const RefineOutcome out = refined(shape, 1e3, method, 16, 200);
    CHECK_FALSE(out.converged);
    CHECK(out.iterations < whole.iterations - 10);
    CHECK(out.forecast > 8);  // a correction takes two seconds
    const RefineOutcome patient = refined(shape, 1e3, method, 150, 8);
    CHECK(patient.converged);
    CHECK(patient.forecast == 0);
    CHECK(patient.iterations >= 10);
    const RefineOutcome impatient = refined(shape, 1e3, method, 1, 8);
    CHECK_FALSE(impatient.converged);
    CHECK(impatient.forecast > 3);
    CHECK(impatient.iterations < patient.iterations);
  }
}

TEST_CASE("classical refinement is given up where its rate is too slow", "[refine][host]") {
  const GridShape shape = grids(Communicator::duplicate(comm_world()).size()).front();
  const RefineOutcome patient = refined(shape, 1e3, RefineMethod::ir, 100);
  CHECK(patient.converged);
  CHECK(patient.forecast == 0);
  const RefineOutcome impatient = refined(shape, 3e4, RefineMethod::ir, 0);
  CHECK_FALSE(impatient.converged);
  CHECK(impatient.iterations <= 3);
  CHECK(impatient.forecast > 3);
}
}  // namespace speedwell::test::refine_tests
