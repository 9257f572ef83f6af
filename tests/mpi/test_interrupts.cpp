// SPDX-License-Identifier: BSD-3-Clause
// A caller's function ends a call on all ranks, and Speedwell can be used again at once.
#include <speedwell/benchmark.hpp>
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "comm/agreement.hpp"
#include "comm/interruption.hpp"
#include "device_choice.hpp"

namespace speedwell::test::interrupts_tests {
namespace {

using namespace std::chrono_literals;

double element(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * 31 + j * j * 17)) + (i == j ? 9 : 0);
}

Matrix matrix(std::int64_t n) {
  return Matrix::from_function(n, element);
}

SolveOptions solve_options() {
  SolveOptions o;
  o.run.nb = 32;
  o.run.device = device_choice().device;
  o.run.comm = device_choice().comm;
  return o;
}

BenchmarkOptions benchmark_options(std::int64_t n) {
  BenchmarkOptions o;
  o.n = n;
  o.run = solve_options().run;
  return o;
}

/// The order of most systems here: emulated GPUs are slow.
std::int64_t order() {
  return device_choice().device == DeviceKind::cpu ? 300 : 130;
}

int rank() {
  return Communicator::duplicate(MPI_COMM_WORLD).rank();
}
int last_rank() {
  return Communicator::duplicate(MPI_COMM_WORLD).size() - 1;
}

/// A function of rank `on` alone, which returns true from its call `from` on.
InterruptFunction after(int from, int on, int& calls) {
  if (rank() != on) return {};
  return [&calls, from] { return ++calls >= from; };
}

/// Progress on rank 0, slow enough for questions to be asked in each step.
ProgressFunction slowly() {
  return [](const Progress&) { std::this_thread::sleep_for(60ms); };
}

void check_solves() {
  const Solution solution =
      solve(MPI_COMM_WORLD, matrix(order() / 2), RightHandSide::of_ones(), solve_options());
  CHECK(solution.converged);
  CHECK(std::fabs(solution.x.front() - 1) < 1e-10);
}

}  // namespace

TEST_CASE("any rank's function ends a solve on every rank", "[solve][interrupt]") {
  for (const int on : std::set{0, last_rank()})
    for (const int from : {1, 2, 4}) {
      CAPTURE(on, from);
      int calls = 0;
      CHECK_THROWS_AS(solve(MPI_COMM_WORLD, matrix(order()), RightHandSide::of_ones(),
                            solve_options(), slowly(), after(from, on, calls)),
                      Interrupted);
      CHECK(calls == (rank() == on ? from : 0));
      check_solves();
    }
}

TEST_CASE("the error of an interrupt says how far the factorization was",
          "[solve][interrupt][host]") {
  bool end = false;
  std::string words;
  try {
    solve(
        MPI_COMM_WORLD, matrix(order()), RightHandSide::of_ones(), solve_options(),
        [&](const Progress& p) {
          end = p.columns_done >= 64;
          std::this_thread::sleep_for(60ms);
        },
        [&] { return end; });
  } catch (const Interrupted& error) {
    words = error.what();
  }
  CHECK(words.starts_with("interrupted after "));
  CHECK(words.ends_with(fmt::format(" of {} columns", order())));
}

TEST_CASE("a function that never says so does not end a solve", "[solve][interrupt][host]") {
  int calls = 0;
  const Solution solution = solve(MPI_COMM_WORLD, matrix(order()), RightHandSide::of_ones(),
                                  solve_options(), slowly(), after(1000000, last_rank(), calls));
  CHECK(solution.converged);
  if (rank() == last_rank()) CHECK(calls > 3);
}

TEST_CASE("an interrupt ends a small system", "[solve][interrupt]") {
  int calls = 0;
  SolveOptions alone;
  alone.run.device = device_choice().device;
  const auto slow = Matrix::from_function(40, [](std::int64_t i, std::int64_t j) {
    if (i == 0) std::this_thread::sleep_for(5ms);
    return element(i, j);
  });
  CHECK_THROWS_AS(
      solve(MPI_COMM_SELF, slow, RightHandSide::of_ones(), alone, {}, [&] { return ++calls >= 2; }),
      Interrupted);
  CHECK(calls == 2);
  CHECK(solve(MPI_COMM_SELF, slow, RightHandSide::of_ones(), alone).converged);
}

TEST_CASE("any rank's function ends a benchmark on every rank", "[interrupt]") {
  for (const auto benchmark : {mxp, hpl})
    for (const int on : std::set{0, last_rank()}) {
      int calls = 0;
      CHECK_THROWS_AS(
          benchmark(MPI_COMM_WORLD, benchmark_options(order()), slowly(), after(3, on, calls)),
          Interrupted);
      CHECK(benchmark(MPI_COMM_WORLD, benchmark_options(100), {}, {}).passed);
    }
}

TEST_CASE("an exception of a caller's function leaves the call on its rank",
          "[solve][interrupt][host]") {
  const auto fails = [](const Progress& p) {
    if (p.columns_done >= 64) throw std::out_of_range("from progress");
  };
  const auto run = [&](const ProgressFunction& progress, const InterruptFunction& interrupt) {
    solve(MPI_COMM_WORLD, matrix(order()), RightHandSide::of_ones(), solve_options(), progress,
          interrupt);
  };
  const auto check = [&](const auto& work, const char* words, int on) {
    if (rank() == on)
      CHECK_THROWS_WITH(work(), words);
    else
      CHECK_THROWS_AS(work(), Interrupted);
    check_solves();
  };
  check([&] { run(fails, {}); }, "from progress", 0);
  check([&] { mxp(MPI_COMM_WORLD, benchmark_options(order()), fails); }, "from progress", 0);
  const InterruptFunction bad = []() -> bool { throw std::out_of_range("from interrupt"); };
  check([&] { run({}, rank() == last_rank() ? bad : InterruptFunction{}); }, "from interrupt",
        last_rank());
}

TEST_CASE("a factorization whose solve was interrupted can solve again", "[solve][interrupt]") {
  bool end = false;
  Factorization f(MPI_COMM_WORLD, matrix(order()), solve_options(), {}, [&] { return end; });
  const auto b = RightHandSide::from_function(
      40, [](std::int64_t i, std::int64_t k) { return static_cast<double>((i + k) % 7); });
  end = rank() == 0;
  CHECK_THROWS_AS(f.solve(b), Interrupted);
  end = false;
  CHECK(f.solve(b).converged);
  const int on = last_rank();
  end = rank() == on;
  CHECK_THROWS_WITH(f.solve(b), "interrupted");
}

TEST_CASE("an interrupt of one rank hides what others have met", "[interrupt]") {
  const Communicator all = Communicator::duplicate(MPI_COMM_WORLD);
  int calls = 0;
  Interruption interruption(MPI_COMM_WORLD, after(1, last_rank(), calls), false);
  const SteadyClock clock;
  const RunContext run(clock, nullptr, {.interrupt = interruption.get()});
  const Communicator in_run = all.in(run);
  const auto fails = [&] {
    std::this_thread::sleep_for(60ms);
    if (all.rank() == 0) throw UsageError("of a result that nobody should read");
  };
  const auto work = [&] { CHECK_THROWS_AS(agree(in_run, fails), Interrupted); };
  CHECK_THROWS_AS(interruption.during(work, [] {}), Interrupted);
  CHECK_THROWS_AS(agree(all, fails), UsageError);
}
}  // namespace speedwell::test::interrupts_tests
