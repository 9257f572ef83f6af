// SPDX-License-Identifier: BSD-3-Clause
// SPEEDWELL_EXPECTS with checks of preconditions. This program and the sources of grid/ in it are
// compiled with these checks in every build. Each violated precondition ends a process of its own.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "core/expects.hpp"
#include "core/scalar.hpp"
#include "element/cyclic.hpp"
#include "element/matrix_spec.hpp"
#include "element/rounding.hpp"
#include "grid/distribution.hpp"
#include "grid/row_moves.hpp"

using namespace speedwell;

namespace {

/// The end of a process that ran only `work`.
struct End {
  int status = -1;   // as waitpid gives it
  std::string said;  // its standard error

  bool aborted() const { return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT; }
  bool finished() const { return WIFEXITED(status) && WEXITSTATUS(status) == EXIT_SUCCESS; }
};

End end_of(const std::function<void()>& work) {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);  // Catch's handler would report a failure
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    work();
    _exit(EXIT_SUCCESS);
  }
  close(ends[1]);
  End end;
  std::array<char, 256> some{};
  for (ssize_t count; (count = read(ends[0], some.data(), some.size())) > 0;)
    end.said.append(some.data(), static_cast<std::size_t>(count));
  close(ends[0]);
  REQUIRE(waitpid(child, &end.status, 0) == child);
  return end;
}

/// Checks that the process was ended with one line that names the file and the condition.
void check_broken(const End& end, const std::string& file, const std::string& condition) {
  CAPTURE(end.said);
  CHECK(end.aborted());
  CHECK(end.said.find(file + ":") != std::string::npos);
  const std::string words = ": broken precondition: " + condition + "\n";
  CHECK(end.said.find(words) + words.size() == end.said.size());
}

constexpr int checked_half(int even) {
  SPEEDWELL_EXPECTS(even % 2 == 0);
  return even / 2;
}
static_assert(checked_half(6) == 3);

struct Positive {
  explicit Positive(int given) : value((SPEEDWELL_EXPECTS(given > 0), given)) {}
  int value;
};

volatile double sink = 0;  // keeps the compiler from removing calls
void use(double value) {
  sink = value;
}

}  // namespace

static_assert(checks_preconditions, "this program is compiled with the checks");

TEST_CASE("the program goes on where a precondition holds", "[expects]") {
  const End end = end_of([] {
    SPEEDWELL_EXPECTS(sink == 0);
    use(checked_half(4) + Positive(1).value);
    use(static_cast<double>(Distribution(10, 2, 2, 1).local({2}).value));
    use(power_of_two(1023));
  });
  CHECK(end.finished());
  CHECK(end.said.empty());
}

TEST_CASE("a violated precondition ends the program with its condition and place", "[expects]") {
  const int line = __LINE__ + 1;
  const End end = end_of([] { SPEEDWELL_EXPECTS(sink > 1); });
  CHECK(end.aborted());
  CHECK(end.said ==
        std::string(__FILE__) + ":" + std::to_string(line) + ": broken precondition: sink > 1\n");
}

TEST_CASE("constant expressions and initializers are checked", "[expects]") {
  check_broken(end_of([] { use(checked_half(static_cast<int>(sink) + 3)); }), "test_expects.cpp",
               "even % 2 == 0");
  check_broken(end_of([] { use(Positive(static_cast<int>(sink)).value); }), "test_expects.cpp",
               "given > 0");
}

TEST_CASE("preconditions of functions in sources are checked", "[expects]") {
  const Distribution rows(10, 2, 2, 1);  // it has the indices 2, 3, 6 and 7
  check_broken(end_of([&] { use(static_cast<double>(rows.local({4}).value)); }),
               "grid/distribution.cpp", "mine(g)");
  const std::string condition = "begin.value + j <= pivot && pivot < rows.size()";
  for (const std::int64_t pivot : {3, 10}) {
    const std::vector<std::int64_t> pivots{4, pivot};
    check_broken(end_of([&] { use(plan_row_moves(pivots, {4}, rows).empty() ? 1 : 0); }),
                 "grid/row_moves.cpp", condition);
  }
}

TEST_CASE("preconditions of functions in headers are checked", "[expects]") {
  std::array<float, 4> values{};
  const AnyMatrix floats = MatrixView<float>{values.data(), 2, 2, 2};
  AnyMatrix halves = floats;
  halves.precision = Precision::fp16;
  CHECK(end_of([&] { use(floats.as<float>()(0, 0)); }).finished());
  check_broken(end_of([&] { use(floats.as<double>().rows == 2 ? 1 : 0); }), "core/scalar.hpp",
               "precision == precision_of<T> && field == field_of<T>");
  check_broken(end_of([&] { with_storage(halves, [](const auto& m) { use(m(0, 0)); }); }),
               "core/scalar.hpp",
               "m.precision == Precision::fp64 || m.precision == Precision::fp32");
}

TEST_CASE("preconditions of functions in kernels/element are checked", "[expects]") {
  const Cyclic cyclic{2, 2, 1};
  check_broken(end_of([&] { use(static_cast<double>(cyclic.local(5))); }), "element/cyclic.hpp",
               "mine(global)");
  for (const int e : {-1023, 1024})
    check_broken(end_of([&] { use(power_of_two(e)); }), "element/rounding.hpp",
                 "-1022 <= e && e <= 1023");
  MatrixSpec spec;
  spec.kind = MatrixKind::fasi_higham;
  spec.n = 3;
  check_broken(end_of([&] { use(static_cast<double>(spec.state(1, 2))); }),
               "element/matrix_spec.hpp", "random()");
}
