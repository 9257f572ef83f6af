// SPDX-License-Identifier: BSD-3-Clause
// The seed of the random vectors with which matrices and solutions are judged.
#include <mpi.h>
#include <speedwell/solve.hpp>

#include <cmath>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "comm/process_grid.hpp"
#include "core/random.hpp"
#include "device_choice.hpp"
#include "host/process_seed.hpp"
#include "pipeline.hpp"
#include "solve/probe_seed.hpp"

namespace speedwell::test::seed_tests {
namespace {

constexpr std::int64_t n = 100;

/// Wilkinson's matrix, whose entries grow in an LU, so that it is rotated at random.
Matrix wilkinson() {
  return Matrix::from_function(n, [](std::int64_t i, std::int64_t j) {
    return j == n - 1 || i == j ? 1. : i > j ? -1. : 0.;
  });
}

/// Its product with ones.
RightHandSide times_ones() {
  return RightHandSide::from_function(1, [](std::int64_t i, std::int64_t) {
    return i == n - 1 ? 2. - n : 2. - static_cast<double>(i);
  });
}

std::uint64_t seed_of_rank_0(const Communicator& all) {
  std::uint64_t seed = process_seed();
  all.broadcast(std::span(&seed, 1), 0);
  return seed;
}

Solution solved(std::uint64_t seed, const GridShape& shape) {
  SolveOptions o = options(shape, 16);
  o.probe_seed = seed;
  return solve(MPI_COMM_WORLD, wilkinson(), times_ones(), o);
}

}  // namespace

TEST_CASE("all ranks have the seed of the first", "[solve][seed]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  CHECK(agreed_seed(all, 10 + static_cast<std::uint64_t>(all.rank())) == 10);
  CHECK(agreed_seed(all, 0) == seed_of_rank_0(all));
}

TEST_CASE("the seed for a matrix follows from all of it, however it is distributed",
          "[solve][seed]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  const Communicator alone = Communicator::duplicate(MPI_COMM_SELF);
  std::uint64_t bits = 0;
  std::uint64_t mine = 0;
  for (std::uint64_t j = 0; j < 23; ++j) {
    bits += random_bits(3, j);
    if (std::cmp_equal(j % static_cast<std::uint64_t>(all.size()), all.rank()))
      mine += random_bits(3, j);
  }
  const std::uint64_t whole = seed_for(alone, 5, bits);
  CHECK(seed_for(all, 5, mine) == whole);
  CHECK(seed_for(alone, 6, bits) != whole);
  CHECK(seed_for(alone, 5, bits + 1) != whole);
}

TEST_CASE("a seed gives the same bits again, and another seed other ones", "[solve][seed]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GridShape& shape : grids(all.size())) {
    const Solution first = solved(5, shape);
    const Solution again = solved(5, shape);
    const Solution other = solved(6, shape);
    const Solution drawn = solved(0, shape);
    CHECK((first.probe_seed == 5 && other.probe_seed == 6));
    CHECK(drawn.probe_seed == seed_of_rank_0(all));
    REQUIRE(first.steps.back().rotated);
    CHECK(first.x == again.x);
    CHECK(first.condition == again.condition);
    CHECK(first.columns.front().forward_bound == again.columns.front().forward_bound);
    const std::int64_t differs = first.x == other.x ? 0 : 1;
    CHECK(all.all_reduce(differs, Reduction::max) == 1);
    for (const Solution* s : {&first, &other, &drawn})
      for (const double x : s->x) CHECK(std::fabs(x - 1) < 1e-12);
  }
}

}  // namespace speedwell::test::seed_tests
