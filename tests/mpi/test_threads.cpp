// SPDX-License-Identifier: BSD-3-Clause
// Speedwell restores a program's numbers of threads, whatever numbers it uses during a call.
#include <speedwell/benchmark.hpp>
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <cmath>
#include <set>
#include <stdexcept>
#include <vector>

#include "bench/benchmark_runner.hpp"
#include "catch.hpp"
#include "comm/communicator.hpp"
#include "device_choice.hpp"
#include "thread_counts.hpp"

namespace speedwell::test::threads_tests {
namespace {

constexpr std::int64_t n = 60;
constexpr ThreadCounts taken{3, 3};

template <class Options>
Options options_for() {
  Options o;
  o.run.nb = 16;
  o.run.threads = taken.openmp;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  return o;
}

BenchmarkOptions benchmark_options() {
  auto o = options_for<BenchmarkOptions>();
  o.n = n;
  return o;
}

double element(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 31 + j * j * 17)) + (i == j ? 9 : 0);
}

Matrix regular() {
  return Matrix::from_function(n, element);
}

Matrix singular() {
  return Matrix::from_function(n, [](std::int64_t i, std::int64_t) { return double(i + 1); });
}

bool on_rank_0() {
  return Communicator::duplicate(MPI_COMM_WORLD).rank() == 0;
}

/// The numbers of threads during Speedwell's calls of a progress function, which only rank 0 gets.
class Seen {
 public:
  ProgressFunction progress() {
    return [this](const Progress&) { counts_.push_back(thread_counts()); };
  }
  bool only(const ThreadCounts& expected) const {
    return counts_.empty() != on_rank_0() &&
           std::all_of(counts_.begin(), counts_.end(),
                       [&](const ThreadCounts& c) { return c == expected; });
  }

 private:
  std::vector<ThreadCounts> counts_;
};

/// The sizes of the thread teams that ask for elements of a right-hand side during `solution`. Only
/// rank 0 asks for the first element, and so has a result.
template <class Solve>
std::set<int> teams_of(const Solve& solution) {
  std::set<int> teams;
  const auto b = RightHandSide::from_function(1, [&](std::int64_t i, std::int64_t) {
    if (i == 0) teams.insert(omp_get_num_threads());
    return 1.0;
  });
  CHECK(solution(b).converged);
  return teams;
}

std::set<int> expected_on_rank_0(int team) {
  return on_rank_0() ? std::set{team} : std::set<int>{};
}

}  // namespace

TEST_CASE("the benchmarks leave the numbers of threads as they were", "[threads]") {
  const OwnThreadCounts own;
  for (const auto benchmark : {mxp, hpl}) {
    Seen seen;
    CHECK(benchmark(MPI_COMM_WORLD, benchmark_options(), seen.progress(), {}).passed);
    CHECK(thread_counts() == own.counts);
    CHECK(seen.only(taken));
  }
}

TEST_CASE("the functions of a runner leave the numbers of threads as they were", "[threads]") {
  const OwnThreadCounts own;
  BenchmarkRunner runner(MPI_COMM_WORLD, benchmark_options());
  CHECK(thread_counts() == own.counts);
  runner.warm_up();
  CHECK(thread_counts() == own.counts);
  const bool accepted = runner.retune(Tuning{8, 1, 0}, 8);
  CHECK(thread_counts() == own.counts);
  if (accepted) runner.first_steps(8);
  CHECK(thread_counts() == own.counts);
}

TEST_CASE("a benchmark that throws leaves the numbers of threads as they were", "[threads]") {
  const OwnThreadCounts own;
  BenchmarkOptions refused = benchmark_options();
  refused.run.lookahead = 1000;
  CHECK_THROWS_AS(mxp(MPI_COMM_WORLD, refused), UsageError);
  CHECK(thread_counts() == own.counts);
  // An exception in the middle of a run, on one rank, where no other rank waits.
  if (Communicator::duplicate(MPI_COMM_WORLD).size() > 1) return;
  const ProgressFunction thrower = [](const Progress&) { throw std::runtime_error("enough"); };
  CHECK_THROWS_WITH(mxp(MPI_COMM_WORLD, benchmark_options(), thrower), "enough");
  CHECK(thread_counts() == own.counts);
}

TEST_CASE("solve leaves the numbers of threads as they were", "[threads]") {
  const OwnThreadCounts own;
  const auto options = options_for<SolveOptions>();
  Seen seen;
  CHECK(solve(MPI_COMM_WORLD, regular(), RightHandSide::of_ones(), options, seen.progress())
            .converged);
  CHECK(thread_counts() == own.counts);
  CHECK(seen.only(taken));
  CHECK(teams_of([&](const RightHandSide& b) {
          return solve(MPI_COMM_WORLD, regular(), b, options);
        }) == expected_on_rank_0(3));
  CHECK_THROWS_AS(solve(MPI_COMM_WORLD, singular(), RightHandSide::of_ones(), options),
                  SingularError);
  CHECK(thread_counts() == own.counts);
}

TEST_CASE("a Factorization leaves the numbers of threads as they were between calls", "[threads]") {
  const OwnThreadCounts own;
  auto options = options_for<SolveOptions>();
  Factorization lu(MPI_COMM_WORLD, regular(), options);
  CHECK(thread_counts() == own.counts);
  CHECK(lu.solve(RightHandSide::of_ones()).converged);
  CHECK(thread_counts() == own.counts);
  const auto nan = [](std::int64_t, std::int64_t) { return std::nan(""); };
  CHECK_THROWS_AS(lu.solve(RightHandSide::from_function(1, nan)), UsageError);
  CHECK(thread_counts() == own.counts);

  options.run.threads = 2;
  Factorization second(MPI_COMM_WORLD, regular(), options);
  for (int turn = 0; turn < 2; ++turn) {
    CHECK(teams_of([&](const RightHandSide& b) { return lu.solve(b); }) == expected_on_rank_0(3));
    CHECK(thread_counts() == own.counts);
    CHECK(teams_of([&](const RightHandSide& b) { return second.solve(b); }) ==
          expected_on_rank_0(2));
    CHECK(thread_counts() == own.counts);
  }
  CHECK_THROWS_AS(Factorization(MPI_COMM_WORLD, singular(), options), SingularError);
  CHECK(thread_counts() == own.counts);
}
}  // namespace speedwell::test::threads_tests
