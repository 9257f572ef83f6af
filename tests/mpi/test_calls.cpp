// SPDX-License-Identifier: BSD-3-Clause
// Calls that differ between ranks end on all of them with one line.
#include <speedwell/benchmark.hpp>
#include <speedwell/solve.hpp>

#include <string>
#include <vector>

#include "catch.hpp"
#include "device_choice.hpp"
#include "sources.hpp"

namespace speedwell::test::calls_tests {
namespace {

constexpr std::int64_t n = 12;

double element(std::int64_t i, std::int64_t j) {
  return i == j ? 20 : fraction(i, j);
}

SolveOptions options() {
  SolveOptions o;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  o.run.threads = 1;
  o.precision = Precision::fp64;
  return o;
}

Matrix function() {
  return Matrix::from_function(n, element);
}

/// A whole array on every rank, large enough for each kind of source.
const double* array() {
  static const std::vector<double> numbers = dense(n, n, n, element);
  return numbers.data();
}

/// A description and what it describes.
template <class Source>
struct Kind {
  std::string words;
  Source source;
};

std::vector<Kind<Matrix>> matrices() {
  const auto blocks = [](auto i, auto j, double* a, std::int64_t lda) {
    for (std::size_t q = 0; q < j.size(); ++q)
      for (std::size_t p = 0; p < i.size(); ++p)
        a[p + q * static_cast<std::size_t>(lda)] = element(i[p], j[q]);
  };
  const auto by_rows = Matrix::dense(n, array(), n, 0, StorageOrder::row_major);
  const Descriptor d = descriptor(n, n, 2, 2, 0, 0, n);
  const Descriptor other = descriptor(n, n, 2, 3, 0, 0, n);
  return {{"a function, of order 12", function()},
          {"a function, of order 13", Matrix::from_blocks(n + 1, blocks)},
          {"an array of order 12 on rank 0", Matrix::dense(n, array(), n)},
          {"an array of order 12 on rank 1", Matrix::dense(n, array(), n, 1)},
          {"an array of order 12 on rank 0, row-major", by_rows},
          {"block-cyclic (DTYPE_ 1, M_ 12, N_ 12, MB_ 2, NB_ 2, RSRC_ 0, CSRC_ 0)",
           Matrix::block_cyclic(d, array())},
          {"block-cyclic (DTYPE_ 1, M_ 12, N_ 12, MB_ 2, NB_ 3, RSRC_ 0, CSRC_ 0)",
           Matrix::block_cyclic(other, array())}};
}

std::vector<Kind<RightHandSide>> right_hand_sides() {
  return {{"A times ones", RightHandSide::of_ones()},
          {"a function, of 1 column", RightHandSide::from_function(1, element)},
          {"a function, of 2 columns", RightHandSide::from_function(2, element)},
          {"an array of 1 column on rank 0", RightHandSide::dense(1, array(), n)},
          {"an array of 1 column on rank 1", RightHandSide::dense(1, array(), n, 1)},
          {"block-cyclic (DTYPE_ 1, M_ 12, N_ 1, MB_ 2, NB_ 2, RSRC_ 0, CSRC_ 0)",
           RightHandSide::block_cyclic(descriptor(n, 1, 2, 2, 0, 0, n), array())}};
}

/// Calls use(source, expected words) for each pair of different kinds: the last rank has the second
/// one of the pair.
template <class Source, class Use>
void for_each_pair(const Communicator& all, const std::string& name,
                   const std::vector<Kind<Source>>& kinds, const Use& use) {
  for (std::size_t here = 0; here < kinds.size(); ++here)
    for (std::size_t there = 0; there < kinds.size(); ++there) {
      if (here == there) continue;
      const bool last = all.rank() == all.size() - 1;
      use(kinds[last ? there : here].source, "ranks differ in " + name + ": " + kinds[here].words +
                                                 " on rank 0, " + kinds[there].words + " on rank " +
                                                 std::to_string(all.size() - 1) +
                                                 "; allowed: the same on all");
    }
}

}  // namespace

TEST_CASE("ranks with different matrices are refused", "[solve][calls]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  if (all.size() == 1) return;
  for_each_pair(all, "A", matrices(), [&](const Matrix& a, const std::string& words) {
    CHECK(refusal(all, [&] { Factorization(MPI_COMM_WORLD, a, options()); }) == words);
    CHECK(refusal(all, [&] { solve(MPI_COMM_WORLD, a, RightHandSide::of_ones(), options()); }) ==
          words);
  });
}

TEST_CASE("ranks with different right-hand sides are refused, and can solve again",
          "[solve][calls]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  if (all.size() == 1) return;
  const bool asks = all.rank() == 0;  // one rank that may interrupt the calls
  Factorization factors(MPI_COMM_WORLD, function(), options(), {},
                        asks ? InterruptFunction([] { return false; }) : InterruptFunction());
  for_each_pair(all, "b", right_hand_sides(), [&](const auto& b, const std::string& words) {
    CHECK(refusal(all, [&] { factors.solve(b); }) == words);
    CHECK(refusal(all, [&] { solve(MPI_COMM_WORLD, function(), b, options()); }) == words);
  });
  CHECK(factors.solve(RightHandSide::of_ones()).converged);
}

TEST_CASE("functions of elements and of blocks may stand beside each other", "[solve][calls]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  const auto ones = [](auto i, auto j, double* b, std::int64_t ldb) {
    for (std::size_t q = 0; q < j.size(); ++q)
      for (std::size_t p = 0; p < i.size(); ++p) b[p + q * static_cast<std::size_t>(ldb)] = 1;
  };
  const RightHandSide b = all.rank() == 0
                              ? RightHandSide::from_blocks(2, ones)
                              : RightHandSide::from_function(2, [](auto, auto) { return 1.0; });
  CHECK(solve(MPI_COMM_WORLD, function(), b, options()).converged);
}

TEST_CASE("ranks that call different functions are refused", "[solve][calls]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  if (all.size() == 1) return;
  const bool last = all.rank() == all.size() - 1;
  const std::string end =
      " on rank " + std::to_string(all.size() - 1) + "; allowed: the same on all";
  const RightHandSide b = RightHandSide::from_function(1, element);
  Factorization factors(MPI_COMM_WORLD, function(), options());
  CHECK(refusal(all, [&] { factors.solve(b, last ? Transpose::yes : Transpose::no); }) ==
        "ranks differ in the system: A x = b on rank 0, A^T x = b" + end);
  CHECK(refusal(all, [&] { factors.condition(last ? Transpose::no : Transpose::yes); }) ==
        "ranks differ in the system: A^T x = b on rank 0, A x = b" + end);
  CHECK(refusal(all,
                [&] {
                  if (last)
                    factors.condition();
                  else
                    factors.solve(b);
                }) ==
        "ranks differ in the call: Factorization::solve() on rank 0, "
        "Factorization::condition()" +
            end);
  CHECK(refusal(all, [&] {
          if (last)
            solve(MPI_COMM_WORLD, function(), b, options());
          else
            Factorization(MPI_COMM_WORLD, function(), options());
        }) == "ranks differ in the call: Factorization on rank 0, solve()" + end);
  CHECK(refusal(all, [&] {
          BenchmarkOptions benchmark;
          benchmark.run = options().run;
          benchmark.n = n;
          if (last)
            mxp(MPI_COMM_WORLD, benchmark);
          else
            solve(MPI_COMM_WORLD, function(), b, options());
        }) == "ranks differ in the call: solve() on rank 0, mxp()" + end);
  CHECK(factors.solve(b, Transpose::yes).converged);
}

TEST_CASE("ranks that solve with different options are refused", "[solve][calls]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  if (all.size() == 1) return;
  const bool last = all.rank() == all.size() - 1;
  const std::string rank = "rank " + std::to_string(all.size() - 1);
  const auto refused = [&](const auto& change) {
    SolveOptions mine = options();
    if (last) change(mine);
    std::string words =
        refusal(all, [&] { solve(MPI_COMM_WORLD, function(), RightHandSide::of_ones(), mine); });
    CHECK(refusal(all, [&] { Factorization(MPI_COMM_WORLD, function(), mine); }) == words);
    return words;
  };
  const std::string begin = rank + " has other options than rank 0: ";
  const std::string end = "; allowed: the same on all";
  CHECK(refused([](SolveOptions& o) { o.precision = Precision::fp32; }) ==
        begin + "precision fp32 and not fp64" + end);
  CHECK(refused([](SolveOptions& o) { o.run.nb = 4; }) == begin + "nb 4 and not 0" + end);
  CHECK(refused([](SolveOptions& o) { o.run.nprow = 1; }).starts_with(begin));
  CHECK(refused([](SolveOptions& o) { o.tolerance = 1e-9; }).starts_with(begin));
  CHECK(refused([](SolveOptions& o) { o.condition = ConditionCheck::off; }).starts_with(begin));
  CHECK(refused([](SolveOptions& o) { o.strict = !o.strict; }).starts_with(begin));
}
}  // namespace speedwell::test::calls_tests
