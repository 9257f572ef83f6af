// SPDX-License-Identifier: BSD-3-Clause
// FP64 with partial pivoting against LAPACK's dgetrf and dgesv.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "lapack.hpp"
#include "pivoting.hpp"

namespace speedwell::test::pivoting_tests {
namespace {

void compare(GridShape shape, std::int64_t n, std::int64_t nb, const Entries& entries) {
  const auto all = Communicator::duplicate(comm_world());
  CAPTURE(shape.nprow, shape.npcol, name(shape.order), n, nb, entries.name);
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = nb;
  o.matrix = MatrixKind::hpl;
  Problem p(all, shape, o, Precision::fp64);
  const Square a = fill(p, entries);
  const auto b = right_hand_side(p.spec());
  const Lapack lapack = dgesv(a, one_column(b));
  LuPlan f = pivoted(Precision::fp64, nb);
  f.leaf = 16;
  const FactorOutcome outcome = p.factor(f);
  REQUIRE(outcome.bad_pivot == lapack.info - 1);
  if (lapack.info != 0) return;
  REQUIRE(std::ranges::equal(outcome.pivots, lapack.pivots));
  const Square lu = lapack_order(gather_factors(p, nb).lu, outcome.pivots, step_ends(p, nb));
  CHECK(factor_error(lu, permuted(a, outcome.pivots)) <= static_cast<double>(n) * eps);
  if (n <= 150) CHECK(share_of_perturbation(lu, lapack.lu, static_cast<double>(n) * 0x1p-52) <= 1);
  const auto x = gather(p.grid, p.a.columns(), solve(p.transport, p.a, p.pivots, p.spec(), nb));
  CHECK(backward_error(a, b, x) <=
        10 * std::max(backward_error(a, b, lapack.x.data), static_cast<double>(n) * eps));
}

}  // namespace

TEST_CASE("pivots, factors and solution agree with LAPACK's", "[pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size())) {
    for (const auto& [n, nb] : std::vector<std::pair<std::int64_t, std::int64_t>>{
             {1, 1}, {2, 2}, {5, 2}, {33, 7}, {128, 32}, {150, 41}})
      for (const Entries& entries : swap_heavy(n, nb, shape.nprow)) compare(shape, n, nb, entries);
    compare(shape, 400, 48, swap_heavy(400, 48, shape.nprow)[0]);
  }
}

TEST_CASE("a singular matrix is reported with LAPACK's info", "[pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  const std::int64_t n = 45;
  for (const GridShape shape : grids(all.size())) {
    const auto u = swap_heavy(n, 6, shape.nprow)[0].at;
    for (const std::int64_t at : {0, 5, 6, 44})
      compare(shape, n, 6,
              {"zero column", [&](auto i, auto j) { return j == at ? 0.0 : u(i, j); }});
    compare(shape, n, 6, {"zero", [](auto, auto) { return 0.0; }});
    compare(shape, n, 6, {"rank one", [](auto i, auto j) {
                            return std::exp2(double((i * i) % 7) + double(j % 4));
                          }});
  }
}
}  // namespace speedwell::test::pivoting_tests
