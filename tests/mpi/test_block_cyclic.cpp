// SPDX-License-Identifier: BSD-3-Clause
// Systems whose matrices are distributed already: in place, or redistributed into larger blocks.
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "memory_limit.hpp"
#include "pipeline.hpp"
#include "setup/footprint.hpp"
#include "setup/plan.hpp"
#include "solve/stepped_solver.hpp"
#include "sources.hpp"

namespace speedwell::test::block_cyclic_tests {
namespace {

double waves(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j)) + (i == j ? 8 : 0);
}

SolveOptions options(GridShape shape, std::int64_t nb = 0) {
  SolveOptions o;
  o.run.nprow = shape.nprow;
  o.run.npcol = shape.npcol;
  o.run.order = shape.order;
  o.run.nb = nb;
  o.precision = Precision::fp32;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  return o;
}

/// Blocks of a descriptor, and the process of the first.
struct Blocks {
  std::int64_t mb;
  std::int64_t nb;
  int row = 0;
  int column = 0;
};

Solution solve_blocks(std::int64_t n, const Blocks& d, const SolveOptions& o) {
  const Communicator all = world();
  const ProcessGrid grid(all, {o.run.nprow, o.run.npcol, o.run.order});
  const LocalPart a(grid, n, n, d.mb, d.nb, d.row, d.column, waves);
  return solve(
      MPI_COMM_WORLD,
      Matrix::block_cyclic(descriptor(n, n, d.mb, d.nb, d.row, d.column, a.ld), a.memory.data()),
      RightHandSide::of_ones(), o);
}

bool has_note(const std::vector<std::string>& notes, const std::string& words) {
  return std::any_of(notes.begin(), notes.end(), [&](const std::string& note) {
    return note.find(words) != std::string::npos;
  });
}

/// Checks x against ones, and bit by bit against the x of the same matrix in the same blocks, each
/// of which was computed where it is needed.
void check_solution(const Solution& s, std::int64_t n, SolveOptions o) {
  REQUIRE(s.converged);
  REQUIRE(std::ssize(s.x) == n);
  for (const double x : s.x) CHECK(std::fabs(x - 1) < 1e-12);
  o.run.nb = s.chosen.nb;
  CHECK(s.x ==
        solve(MPI_COMM_WORLD, Matrix::from_function(n, waves), RightHandSide::of_ones(), o).x);
}

}  // namespace

TEST_CASE("a matrix in small blocks is redistributed, in others it is used in place",
          "[solve][host]") {
  for (const GridShape shape : grids(world().size()))
    for (const std::int64_t n : {1, 5, 131})
      for (const std::int64_t nb : {1, 3, 64}) {
        CAPTURE(shape.nprow, shape.npcol, name(shape.order), n, nb);
        const SolveOptions o = options(shape);
        const Solution s = solve_blocks(n, {nb, nb}, o);
        check_solution(s, n, o);
        const std::int64_t wanted = std::min<std::int64_t>(n, 32);  // by the table of defaults
        const std::int64_t own = std::min(n, nb);
        const bool moved = shape.size() > 1 && 2 * own < wanted;
        if (shape.size() > 1) CHECK(s.chosen.nb == (moved ? wanted : own));
        CHECK(has_note(s.notes, "redistributed") == moved);
        CHECK(has_note(s.notes, "A redistributed from blocks of " + std::to_string(nb) +
                                    " to blocks of " + std::to_string(wanted)) == moved);
      }
}

TEST_CASE("a block size that is given is that of the factorization", "[solve][host]") {
  for (const GridShape shape : grids(world().size()))
    for (const std::int64_t given : {7, 16, 64, 500}) {
      CAPTURE(shape.nprow, shape.npcol, name(shape.order), given);
      const SolveOptions o = options(shape, given);
      const Solution s = solve_blocks(131, {16, 16}, o);
      CHECK(s.chosen.nb == given);
      check_solution(s, 131, o);
      CHECK(has_note(s.notes, "A redistributed from blocks of 16 to blocks of " +
                                  std::to_string(std::min<std::int64_t>(given, 131))) ==
            (shape.size() > 1 && given != 16));
    }
}

TEST_CASE("any block-cyclic distribution of a matrix is possible", "[solve]") {
  for (const GridShape shape : grids(world().size())) {
    CAPTURE(shape.nprow, shape.npcol, name(shape.order));
    const SolveOptions o = options(shape);
    const Solution blocks = solve_blocks(77, {2, 40}, o);
    check_solution(blocks, 77, o);
    CHECK(has_note(blocks.notes, "A redistributed from blocks of 2 x 40 to blocks of 32") ==
          (shape.nprow > 1));
    const int row = shape.nprow - 1;
    const int column = shape.npcol - 1;
    const Solution first = solve_blocks(77, {20, 20, row, column}, o);
    check_solution(first, 77, o);
    CHECK(has_note(first.notes, "A redistributed from blocks of 20, the first on process (" +
                                    std::to_string(row) + ", " + std::to_string(column) + "),") ==
          (shape.size() > 1));
  }
}

namespace {

constexpr std::int64_t large_n = 8000;

LuRequest request(Precision precision, std::int64_t nb, Kept kept) {
  LuRequest of{.run = options(grids(world().size()).front()).run,
               .n = large_n,
               .precision = precision,
               .pivoting = Pivoting::partial,
               .kept = kept};
  of.run.nb = nb;
  return of;
}

}  // namespace

TEST_CASE("a matrix stays in its blocks where memory is short", "[solve]") {
  if (device_choice().device == DeviceKind::cuda || world().size() == 1) return;
  // The first device under a limit takes a buffer of OpenBLAS, unless an earlier product has.
  std::optional<MemoryLimit> no_limit(1e12);
  const Machine machine(MPI_COMM_WORLD, request(Precision::fp64, 0, Kept::in_place).run);
  no_limit.reset();
  const auto needs = [&](Precision precision, Kept kept) {
    return rank_bytes(plan(machine, request(precision, 0, kept)).lu);
  };
  const double in_place = needs(Precision::fp64, Kept::in_place);
  const double low_copy = needs(Precision::fp32, Kept::copy);
  const double copy = needs(Precision::fp64, Kept::copy);
  const auto planned = [&](double bytes, Precision precision, std::int64_t nb) {
    const MemoryLimit limit(bytes);
    LuRequest in_blocks = request(precision, nb, Kept::in_place);
    in_blocks.nb_in_place = 16;
    in_blocks.last = Precision::fp64;
    return plan(machine, in_blocks);
  };
  const LuSetup roomy = planned(1.1 * copy, Precision::fp64, 0);
  CHECK(roomy.lu.nb > 32);
  CHECK(roomy.lu.held == 8);
  CHECK(!has_note(roomy.notes, "stays in blocks"));
  // FP32 factors beside a copy would fit, FP64 factors would not.
  for (const auto& [bytes, precision] : {std::pair{(in_place + copy) / 2, Precision::fp64},
                                         std::pair{(low_copy + copy) / 2, Precision::fp32}}) {
    const LuSetup tight = planned(bytes, precision, 0);
    CHECK(tight.lu.nb == 16);
    CHECK(tight.lu.held == 0);
    CHECK(has_note(tight.notes, "A stays in blocks of 16, which are slow: with a copy of A in "));
  }
  // A block size that is given needs only room for these factors.
  CHECK(planned((low_copy + copy) / 2, Precision::fp32, 48).lu.nb == 48);
  CHECK(planned((in_place + copy) / 2, Precision::fp64, 16).lu.held == 0);
  CHECK_THROWS_WITH(
      planned((in_place + copy) / 2, Precision::fp64, 48),
      ContainsSubstring("NB = 48 is not possible: with a copy of A in blocks of 48") &&
          ContainsSubstring("allowed is NB = 16, the blocks in which"));
  CHECK_THROWS_WITH(planned(0.5 * in_place, Precision::fp64, 0), ContainsSubstring("does not fit"));
  CHECK_THROWS_AS(planned(0.5 * in_place, Precision::fp64, 0), NotEnoughMemory);
  CHECK_THROWS_AS(planned((in_place + copy) / 2, Precision::fp64, 48), NotEnoughMemory);
  // The solver asks for this: its constructor plans, and does not read A yet.
  const MemoryLimit limit((in_place + copy) / 2);
  SolveOptions o = options(grids(world().size()).front(), 48);
  o.precision = Precision::fp64;
  const std::array<double, 1> untouched{};
  const Matrix a =
      Matrix::block_cyclic(descriptor(large_n, large_n, 16, 16, 0, 0, large_n), untouched.data());
  CHECK_THROWS_WITH(SteppedSolver(MPI_COMM_WORLD, a, o, {}),
                    ContainsSubstring("NB = 48 is not possible"));
  o.run.nb = 0;
  CHECK_NOTHROW(SteppedSolver(MPI_COMM_WORLD, a, o, {}));
}
}  // namespace speedwell::test::block_cyclic_tests
