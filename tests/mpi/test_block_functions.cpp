// SPDX-License-Identifier: BSD-3-Clause
// Sources whose blocks are filled by a caller's function.
#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "refusal.hpp"
#include "sources.hpp"

namespace speedwell::test::block_functions_tests {
namespace {

double value(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 31 + j * j * 17)) + (i == j ? 9 : 0);
}

/// Fills blocks, and notes how often each element was set and how large the blocks were.
struct Blocks {
  std::thread::id thread = std::this_thread::get_id();
  std::int64_t set = 0;
  std::size_t largest = 0;
  bool sound = true;

  BlockFunction function() {
    return [this](std::span<const std::int64_t> i, std::span<const std::int64_t> j, double* a,
                  std::int64_t lda) {
      sound = sound && std::this_thread::get_id() == thread && !i.empty() && !j.empty() &&
              std::ranges::is_sorted(i) && std::ranges::is_sorted(j) && lda >= std::ssize(i);
      set += std::ssize(i) * std::ssize(j);
      largest = std::max(largest, i.size() * j.size() * sizeof(double));
      for (std::size_t q = 0; q < j.size(); ++q)
        for (std::size_t p = 0; p < i.size(); ++p)
          a[static_cast<std::int64_t>(p) + static_cast<std::int64_t>(q) * lda] = value(i[p], j[q]);
    };
  }
};

SolveOptions options() {
  SolveOptions o;
  o.run.nb = 16;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  return o;
}

}  // namespace

TEST_CASE("blocks of A are those of each rank, and each element is set once", "[sources]") {
  const Communicator all = world();
  for (const std::int64_t n : {1, 7, 60, 1100})
    for (const GridShape& shape : grids(all.size())) {
      const ProcessGrid grid(all, shape);
      Blocks blocks;
      const Matrix a = Matrix::from_blocks(n, blocks.function());
      const Part part(a.source(), grid, 8);
      CHECK(part.is(value));
      CHECK(blocks.sound);
      CHECK(blocks.set == part.rows.local_size() * part.columns.local_size());
      CHECK(blocks.largest <= std::size_t{4} << 20);
    }
}

TEST_CASE("a system of blocks has the solution of the same system of elements", "[sources]") {
  for (const std::int64_t n : {1, 60, 700}) {
    if (n > 60 && device_choice().device == DeviceKind::cuda) continue;
    Blocks of_a;
    Blocks of_b;
    const Solution by_blocks = solve(MPI_COMM_WORLD, Matrix::from_blocks(n, of_a.function()),
                                     RightHandSide::from_blocks(3, of_b.function()), options());
    const Solution by_elements = solve(MPI_COMM_WORLD, Matrix::from_function(n, value),
                                       RightHandSide::from_function(3, value), options());
    CHECK(by_blocks.x == by_elements.x);
    CHECK(by_blocks.converged);
    CHECK(of_a.sound);
    CHECK(of_b.sound);
    CHECK(world().all_reduce(of_a.set, Reduction::sum) == n * n);
    CHECK(world().all_reduce(of_b.set, Reduction::sum) == 3 * n);
  }
}

TEST_CASE("functions of blocks that are not allowed are refused", "[sources]") {
  const auto run = [](const Matrix& a, const RightHandSide& b) {
    solve(MPI_COMM_WORLD, a, b, options());
  };
  Blocks blocks;
  const Matrix a = Matrix::from_blocks(20, blocks.function());
  CHECK_THROWS_WITH(run(Matrix::from_blocks(0, blocks.function()), RightHandSide::of_ones()),
                    "A is of order 0; allowed: at least 1");
  CHECK_THROWS_WITH(run(Matrix::from_blocks(20, {}), RightHandSide::of_ones()),
                    "the function of A's blocks is empty");
  CHECK_THROWS_WITH(run(a, RightHandSide::from_blocks(0, blocks.function())),
                    "b has 0 columns; allowed: at least 1");
  CHECK_THROWS_WITH(run(a, RightHandSide::from_blocks(1, {})),
                    "the function of b's blocks is empty");
}

TEST_CASE("an exception of a function of blocks leaves the call on its rank", "[sources]") {
  const int last = world().size() - 1;
  const bool here = world().rank() == last;
  const auto fails = [&](std::span<const std::int64_t>, std::span<const std::int64_t>, double*,
                         std::int64_t) {
    if (here) throw std::out_of_range("no such block");
  };
  const auto run = [&] {
    solve(MPI_COMM_WORLD, Matrix::from_blocks(200, fails), RightHandSide::of_ones(), options());
  };
  if (here)
    CHECK_THROWS_AS(run(), std::out_of_range);
  else
    CHECK_THROWS_AS(run(), AgreedFault);
}

TEST_CASE("an interrupt is asked between blocks", "[sources][interrupt]") {
  int calls = 0;
  const auto slow = [&](std::span<const std::int64_t>, std::span<const std::int64_t>, double*,
                        std::int64_t) {
    ++calls;
    std::this_thread::sleep_for(std::chrono::milliseconds(60));
  };
  CHECK_THROWS_AS(solve(MPI_COMM_WORLD, Matrix::from_blocks(8000, slow), RightHandSide::of_ones(),
                        options(), {}, [&] { return calls >= 2; }),
                  Interrupted);
  CHECK(calls <= 4);
}
}  // namespace speedwell::test::block_functions_tests
