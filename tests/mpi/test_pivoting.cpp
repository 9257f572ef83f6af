// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "core/numbers.hpp"
#include "pivoting.hpp"

namespace speedwell::test::pivoting_tests {
namespace {

BenchmarkOptions sizes(std::int64_t n, std::int64_t nb) {
  BenchmarkOptions o;
  o.n = n;
  o.run.nb = nb;
  o.matrix = MatrixKind::hpl;
  return o;
}

// Checks that FP64 pivots equal those of plain elimination and that the factors are close to its
// factors.
void check_equals_plain(GridShape shape, std::int64_t n, std::int64_t nb, const Entries& entries,
                        const LuPlan& f) {
  const auto all = Communicator::duplicate(comm_world());
  CAPTURE(shape.nprow, shape.npcol, name(shape.order), n, nb, entries.name, f.width, f.lookahead,
          f.chunk, f.leaf, f.ndiv, name(f.broadcast));
  Problem p(all, shape, sizes(n, nb), Precision::fp64);
  const Square a = fill(p, entries);
  const PivotedLu plain = plain_pivoted_lu(a);
  const FactorOutcome outcome = p.factor(f);
  REQUIRE(outcome.bad_pivot == plain.zero_pivot);
  if (plain.zero_pivot >= 0) return;
  REQUIRE(std::ranges::equal(outcome.pivots, plain.pivots));
  const Square lu =
      lapack_order(gather_factors(p, f.width).lu, outcome.pivots, step_ends(p, f.width));
  CHECK(factor_error(lu, permuted(a, outcome.pivots)) <= static_cast<double>(n) * eps);
  CHECK(share_of_perturbation(lu, plain.lu, static_cast<double>(n) * 0x1p-52) <= 1);
}

// GPUs, and emulated ones above all, need long for small kernels: they get a part of the cases.
bool on_cpu() {
  return device_choice().device != DeviceKind::cuda;
}
std::vector<std::pair<std::int64_t, std::int64_t>> orders() {
  if (!on_cpu()) return {{1, 1}, {7, 3}, {41, 8}};
  return {{1, 1}, {2, 1}, {3, 2}, {7, 3}, {20, 20}, {41, 8}, {50, 64}, {64, 16}};
}
template <class T>
std::vector<T> some(std::vector<T> all, std::size_t count) {
  if (!on_cpu()) all.resize(std::min(all.size(), count));
  return all;
}

}  // namespace

TEST_CASE("FP64 factors and pivots are those of plain elimination", "[factor][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : orders())
      for (const Entries& entries : some(swap_heavy(n, nb, shape.nprow), 3))
        check_equals_plain(shape, n, nb, entries, pivoted(Precision::fp64, nb));
}

TEST_CASE("with pivoting, look-ahead, broadcast, width, chunks and recursion change the order only",
          "[factor][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  const std::int64_t n = 61;
  for (const GridShape shape : grids(all.size()))
    for (const Entries& entries : swap_heavy(n, 12, shape.nprow)) {
      if (entries.name != "random" && entries.name != "reverse identity") continue;
      for (const int lookahead : {0, 1})
        for (const auto broadcast :
             some<BroadcastMethod>({BroadcastMethod::ring_modified, BroadcastMethod::ibcast}, 1))
          for (const std::int64_t width : some<std::int64_t>({5, 12}, 1))
            for (const std::int64_t chunk : some<std::int64_t>({7, 0, 1}, 1)) {
              LuPlan f = pivoted(Precision::fp64, width);
              f.lookahead = lookahead;
              f.broadcast = broadcast;
              f.chunk = chunk;
              check_equals_plain(shape, n, 12, entries, f);
            }
      for (const int leaf : some<int>({3, 1, 64}, 1))
        for (const int ndiv : some<int>({3, 2, 50}, 1)) {
          LuPlan f = pivoted(Precision::fp64, 12);
          f.leaf = leaf;
          f.ndiv = ndiv;
          check_equals_plain(shape, n, 12, entries, f);
        }
    }
}

TEST_CASE("FP32 factors with pivoting are those of a permuted matrix, multipliers at most one",
          "[factor][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : orders())
      for (const auto precision :
           {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32})
        for (const Entries& entries : some(swap_heavy(n, nb, shape.nprow), 2)) {
          // One scale for a panel cannot bring all of these rows into FP16's range.
          if (needs_scale(precision) && entries.name == "rows growing downwards") continue;
          CAPTURE(shape.nprow, shape.npcol, n, nb, entries.name, name(precision));
          Problem p(all, shape, sizes(n, nb));
          const Square a = fill(p, entries);
          const FactorOutcome outcome = p.factor(pivoted(precision, nb));
          REQUIRE(outcome.usable());
          const auto [stored, condition] = gather_factors(p, nb);
          const Square lu = lapack_order(stored, outcome.pivots, step_ends(p, nb));
          // The error of solves with inverses or with rounded operands.
          const double solves = p.device->kind() == DeviceKind::cpu
                                    ? 0
                                    : condition * ((bytes_of(precision) == 2 ? 4 * 0x1p-10 : 0) +
                                                   static_cast<double>(n + 10) * 0x1p-24);
          CHECK(factor_error(lu, permuted(a, outcome.pivots)) <=
                2 * (unit_roundoff(precision) + static_cast<double>(n) * 0x1p-24 + solves));
          double most = 0;
          for (std::int64_t j = 0; j < n; ++j)
            for (std::int64_t i = j + 1; i < n; ++i) most = std::max(most, std::fabs(lu(i, j)));
          CHECK(most <= 1 + 4 * condition * static_cast<double>(n + 1) * 0x1p-24);
        }
}

TEST_CASE("all ranks learn the zero pivot of an exactly singular matrix", "[factor][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  const std::int64_t n = 37;
  for (const GridShape shape : grids(all.size())) {
    const auto u = swap_heavy(n, 5, shape.nprow)[0].at;
    for (const std::int64_t at : some<std::int64_t>({5, 36, 0, 4, 20}, 2)) {
      const Entries zero_column{"zero column",
                                [u, at](auto i, auto j) { return j == at ? 0.0 : u(i, j); }};
      check_equals_plain(shape, n, 5, zero_column, pivoted(Precision::fp64, 5));
    }
    // With powers of two elimination is exact, and the trailing matrix becomes zero.
    const Entries rank_one{
        "rank one", [](auto i, auto j) { return std::exp2(double((i * i) % 7) + double(j % 4)); }};
    check_equals_plain(shape, n, 5, rank_one, pivoted(Precision::fp64, 5));
  }
}

TEST_CASE("NaN and Inf end a pivoted factorization on all ranks", "[factor][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  const std::int64_t n = 33;
  for (const GridShape shape : grids(all.size()))
    for (const double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()})
      for (const auto precision : {Precision::fp64, Precision::fp16}) {
        const auto u = swap_heavy(n, 4, shape.nprow)[0].at;
        Problem p(all, shape, sizes(n, 4), storage_for(precision));
        fill(p, {"poisoned", [&](auto i, auto j) { return i == 30 && j == 2 ? value : u(i, j); }});
        const FactorOutcome outcome = p.factor(pivoted(precision, 4));
        CHECK_FALSE(outcome.usable());
        CHECK(all.all_reduce(outcome.bad_pivot, Reduction::min) == outcome.bad_pivot);
        Problem whole_nan(all, shape, sizes(n, 4), storage_for(precision));
        fill(whole_nan, {"all", [&](auto, auto) { return value; }});
        CHECK_FALSE(whole_nan.factor(pivoted(precision, 4)).usable());
      }
}

TEST_CASE("systems that need pivoting are solved", "[refine][pivoting]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : orders()) {
      const BenchmarkOptions o = sizes(n, nb);
      CAPTURE(shape.nprow, shape.npcol, n, nb);
      Problem direct(all, shape, o, Precision::fp64);
      REQUIRE(direct.factor(pivoted(Precision::fp64, nb)).usable());
      const auto x = solve(direct.transport, direct.a, direct.pivots, direct.spec(), nb);
      CHECK(scaled_residual(direct.norms(x), n) < 16);

      Problem refined(all, shape, o);
      REQUIRE(refined.factor(pivoted(Precision::fp16, nb)).usable());
      const RefineOutcome out = refined.solve({RefineMethod::automatic, 50, nb});
      CHECK(out.converged);
      CHECK(scaled_residual(refined.norms(out.x), n) < 1);
    }
}
}  // namespace speedwell::test::pivoting_tests
