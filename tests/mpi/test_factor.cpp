// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "grid/step.hpp"
#include "pipeline.hpp"

namespace speedwell::test::factor_tests {
namespace {

const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{
    {1, 1}, {2, 1}, {7, 3}, {21, 7}, {50, 16}, {64, 100}, {97, 10}, {130, 32}, {100, 40}};

// The error that the device's solves add to |A - L U|, as a share of |L| |U|. Errors of products
// with inverses contain the condition number of the triangles. Solves of panels that are rounded to
// 16 bits may truncate both operands to 11 bits, an error of 2 * 2^-10 in products with blocks of
// the triangle and again in products with an inverse.
double solve_error(const Device& device, Precision precision, std::int64_t n, double condition) {
  if (device.kind() == DeviceKind::cpu) return 0;
  const double rough = bytes_of(precision) == 2 ? 4 * 0x1p-10 : 0;
  return condition * (rough + static_cast<double>(n + 10) * 0x1p-24);
}

// The largest |lu - plain| as a share of what rounding may cause: the error of FP32 sums, and that
// of a few 16-bit roundings in the other direction.
double worst_share(const Square& lu, const Square& plain, Precision precision) {
  double worst = 0;
  for (std::int64_t j = 0; j < lu.n; ++j) {
    for (std::int64_t i = 0; i < lu.n; ++i) {
      double sum = std::fabs(plain(i, j));
      double most = sum;
      for (std::int64_t k = 0; k < std::min(i, j); ++k) {
        const double product = std::fabs(plain(i, k) * plain(k, j));
        sum += product;
        most = std::max(most, product);
      }
      const double pivot = i > j ? std::max(1.0, 1 / std::fabs(plain(j, j))) : 1;
      const double bound =
          (static_cast<double>(lu.n + 10) * 0x1p-24 * sum + 4 * unit_roundoff(precision) * most) *
          pivot;
      worst = std::max(worst, std::fabs(lu(i, j) - plain(i, j)) / bound);
    }
  }
  return worst;
}

void check_factorization(GridShape shape, const BenchmarkOptions& o, const LuPlan& f) {
  const auto all = Communicator::duplicate(comm_world());
  CAPTURE(shape.nprow, shape.npcol, name(shape.order), o.n, o.run.nb, name(o.matrix),
          name(f.precision), f.width, f.lookahead, f.chunk, name(f.broadcast));
  Problem p(all, shape, o);
  const FactorOutcome outcome = p.factor(f);
  REQUIRE(outcome.usable());
  const auto [lu, condition] = gather_factors(p, f.width);
  const Square plain = plain_lu(whole(p.spec()), f.precision, step_ends(p, f.width));
  const double error = solve_error(*p.device, f.precision, o.n, condition);
  // Where the solves have larger errors, every 16-bit rounding may go in the other direction.
  CHECK((error == 0
             ? worst_share(lu, plain, f.precision)
             : share_of_perturbation(lu, plain, error + 2 * unit_roundoff(f.precision))) < 1);
  CHECK(factor_error(lu, whole(p.spec())) <
        2 * (unit_roundoff(f.precision) + static_cast<double>(o.n) * 0x1p-24 + error));
}

}  // namespace

TEST_CASE("factors equal those of plain elimination with the same rounding", "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : sizes)
      for (const auto precision :
           {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32}) {
        BenchmarkOptions o;
        o.n = n;
        o.run.nb = nb;
        check_factorization(shape, o, {.width = nb, .precision = precision});
      }
}

TEST_CASE("look-ahead, broadcast, chunks and the width of a step change only the order of work",
          "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  // Broadcast methods have tests of their own, so one method of each kind suffices here.
  for (const GridShape shape : grids(all.size()))
    for (const int lookahead : {0, 1})
      for (const auto broadcast : {BroadcastMethod::ibcast, BroadcastMethod::ring_modified,
                                   BroadcastMethod::spread_roll_modified})
        for (const auto& [precision, width, chunk] :
             {std::tuple{Precision::fp16, 16, 0}, std::tuple{Precision::fp16, 5, 7},
              std::tuple{Precision::fp16x3, 6, 9}}) {
          BenchmarkOptions o;
          o.n = 75;
          o.run.nb = 16;
          check_factorization(shape, o,
                              {.width = width,
                               .precision = precision,
                               .lookahead = lookahead,
                               .chunk = chunk,
                               .broadcast = broadcast});
        }
}

TEST_CASE("every kind of matrix is factored", "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const auto kind :
         {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham, MatrixKind::dominant}) {
      BenchmarkOptions o;
      o.n = 60;
      o.run.nb = 9;
      o.matrix = kind;
      check_factorization(shape, o, {.width = 9, .broadcast = BroadcastMethod::ring});
    }
}

TEST_CASE("all ranks learn the index of a zero or non-finite pivot", "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  const auto poisoned = [&](GridShape shape, std::int64_t at, float value) {
    BenchmarkOptions o;
    o.n = 40;
    o.run.nb = 8;
    Problem p(all, shape, o);
    // Row and column `at` are zero off the diagonal, so that elimination does not change the pivot.
    HostCopy a(*p.device, p.a);
    for (std::int64_t g = 0; g < o.n; ++g) {
      if (float* entry = a.find({g}, {at})) *entry = 0;
      if (float* entry = a.find({at}, {g})) *entry = 0;
    }
    if (float* pivot = a.find({at}, {at})) *pivot = value;
    a.store();
    return p.factor({.width = 8});
  };
  for (const GridShape shape : grids(all.size()))
    for (const std::int64_t at : {0, 7, 8, 25, 39}) {
      CAPTURE(shape.nprow, shape.npcol, at);
      CHECK(poisoned(shape, at, 0).bad_pivot == at);
      CHECK(poisoned(shape, at, std::numeric_limits<float>::quiet_NaN()).bad_pivot == at);
      CHECK(poisoned(shape, at, 1).usable());
    }
}

TEST_CASE("NaN or Inf off the diagonal is found, and all ranks learn of it", "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  for (const GridShape shape : grids(all.size()))
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      BenchmarkOptions o;
      o.n = 33;
      o.run.nb = 4;
      Problem p(all, shape, o);
      HostCopy a(*p.device, p.a);
      if (float* entry = a.find({30}, {2})) *entry = value;
      a.store();
      const FactorOutcome outcome = p.factor({.width = 4, .precision = Precision::bf16});
      CHECK_FALSE(outcome.usable());
      CHECK(all.all_reduce(std::int64_t{outcome.nonfinite}, Reduction::min) ==
            std::int64_t{outcome.nonfinite});
    }
}

TEST_CASE("a kernel that gave up a wait ends all ranks' runs", "[factor]") {
  const auto all = Communicator::duplicate(comm_world());
  for (int rank = 0; rank < all.size(); ++rank) {
    FactorStatus mine;
    if (rank == all.rank()) mine.stuck = 1;
    CHECK_THROWS_AS(worst_status(all, mine), Fault);
  }
  CHECK(worst_status(all, {}).bad_pivot == -1);
}
}  // namespace speedwell::test::factor_tests
