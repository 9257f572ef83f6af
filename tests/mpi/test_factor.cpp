#include <algorithm>
#include <cmath>
#include <limits>

#include "catch.hpp"
#include "grid/step.hpp"
#include "pipeline.hpp"

using namespace lupine;
using namespace lupine::test;

namespace {

const std::vector<std::pair<std::int64_t, std::int64_t>> sizes{
    {1, 1}, {2, 1}, {7, 3}, {21, 7}, {50, 16}, {64, 100}, {97, 10}, {130, 32}, {100, 40}};

std::vector<std::int64_t> step_ends(const Problem& p, std::int64_t width) {
  const Plan plan(p.a.rows(), p.a.columns(), width);
  std::vector<std::int64_t> ends;
  for (std::int64_t k = 0; k < plan.count(); ++k)
    ends.insert(ends.end(), static_cast<std::size_t>(plan[k].width()), plan[k].end.value);
  return ends;
}

// The largest of |lu - plain|, as a share of what rounding explains: FP32 sums, and here and there
// a 16-bit rounding that falls to the other side.
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

// max |A - L U| / (|L| |U|), A in FP64.
double backward_error(const Square& lu, const MatrixSpec& spec) {
  double worst = 0;
  for (std::int64_t j = 0; j < lu.n; ++j) {
    for (std::int64_t i = 0; i < lu.n; ++i) {
      double sum = i <= j ? lu(i, j) : 0;
      double scale = std::fabs(sum);
      for (std::int64_t k = 0; k < std::min(i, j + 1); ++k) {
        sum += lu(i, k) * lu(k, j);
        scale += std::fabs(lu(i, k) * lu(k, j));
      }
      worst = std::max(worst, std::fabs(sum - spec.entry(i, j)) / scale);
    }
  }
  return worst;
}

void check_factorization(GridShape shape, const MxpOptions& o, const FactorOptions& f) {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  CAPTURE(shape.rows, shape.columns, name(shape.order), o.n, o.nb, name(o.matrix),
          name(f.precision), f.width, f.lookahead, name(f.broadcast));
  Problem p(all, shape, o);
  const FactorOutcome outcome = p.factor(f);
  REQUIRE(outcome.usable());
  const Square lu = gather(p.grid, p.a);
  const Square plain = plain_lu(whole(p.spec()), f.precision, step_ends(p, f.width));
  CHECK(worst_share(lu, plain, f.precision) < 1);
  CHECK(backward_error(lu, p.spec()) <
        2 * (unit_roundoff(f.precision) + static_cast<double>(o.n) * 0x1p-24));
}

}  // namespace

TEST_CASE("factors equal those of plain elimination with the same rounding") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const auto& [n, nb] : sizes)
      for (const auto precision : {Precision::fp16, Precision::bf16, Precision::fp32}) {
        MxpOptions o;
        o.n = n;
        o.nb = nb;
        check_factorization(shape, o, {precision, nb, 1, BroadcastMethod::ring_modified});
      }
}

TEST_CASE("look-ahead, broadcast and the width of a step change nothing but the order") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const int lookahead : {0, 1, 2, 5})
      for (const auto broadcast : {BroadcastMethod::ibcast, BroadcastMethod::ring,
                                   BroadcastMethod::ring_modified, BroadcastMethod::spread_roll})
        for (const std::int64_t width : {16, 5}) {
          MxpOptions o;
          o.n = 75;
          o.nb = 16;
          check_factorization(shape, o, {Precision::fp16, width, lookahead, broadcast});
        }
}

TEST_CASE("every matrix factors") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const auto kind :
         {MatrixKind::scaled_diagonal, MatrixKind::fasi_higham, MatrixKind::dominant}) {
      MxpOptions o;
      o.n = 60;
      o.nb = 9;
      o.matrix = kind;
      check_factorization(shape, o, {Precision::fp16, 9, 1, BroadcastMethod::ring});
    }
}

TEST_CASE("a zero or non-finite pivot is known to all ranks by its index") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const auto poisoned = [&](GridShape shape, std::int64_t at, float value) {
    MxpOptions o;
    o.n = 40;
    o.nb = 8;
    Problem p(all, shape, o);
    // Row and column `at` vanish but for the diagonal, so that elimination leaves the pivot alone.
    for (std::int64_t j = 0; j < p.a.local().cols; ++j)
      for (std::int64_t i = 0; i < p.a.local().rows; ++i) {
        const bool row = p.a.rows().global({i}).value == at;
        const bool column = p.a.columns().global({j}).value == at;
        if (row || column) p.a.local()(i, j) = row && column ? value : 0.0f;
      }
    return p.factor({Precision::fp16, 8, 1, BroadcastMethod::ring_modified});
  };
  for (const GridShape shape : grids(all.size()))
    for (const std::int64_t at : {0, 7, 8, 25, 39}) {
      CAPTURE(shape.rows, shape.columns, at);
      CHECK(poisoned(shape, at, 0).bad_pivot == at);
      CHECK(poisoned(shape, at, std::numeric_limits<float>::quiet_NaN()).bad_pivot == at);
      CHECK(poisoned(shape, at, 1).usable());
    }
}

TEST_CASE("NaN or Inf off the diagonal is found and agreed on") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape shape : grids(all.size()))
    for (const float value :
         {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
      MxpOptions o;
      o.n = 33;
      o.nb = 4;
      Problem p(all, shape, o);
      if (p.a.rows().mine({30}) && p.a.columns().mine({2}))
        p.a.local()(p.a.rows().local({30}).value, p.a.columns().local({2}).value) = value;
      const FactorOutcome outcome =
          p.factor({Precision::bf16, 4, 1, BroadcastMethod::ring_modified});
      CHECK_FALSE(outcome.usable());
      CHECK(all.all_reduce(std::int64_t{outcome.nonfinite}, Reduction::min) ==
            std::int64_t{outcome.nonfinite});
    }
}
