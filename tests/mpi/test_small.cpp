// SPDX-License-Identifier: BSD-3-Clause
// Small systems on one process, beside the solver of large ones. tests/accuracy compares their
// errors with LAPACK's.
#include <speedwell/solve.hpp>

#include <atomic>
#include <cmath>
#include <fstream>
#include <limits>

#include "catch.hpp"
#include "core/random.hpp"
#include "device_choice.hpp"
#include "solve/small_solver.hpp"
#include "sources.hpp"
#include "thread_counts.hpp"

namespace speedwell::test::small_tests {
namespace {

/// With a block size, which only the solver of large systems knows.
SolveOptions in_blocks(SolveOptions options = {}) {
  options.run.nb = 8;
  return options;
}

SolveOptions on_cpu() {
  SolveOptions options;
  options.run.device = DeviceKind::cpu;
  return options;
}

double waves(std::int64_t i, std::int64_t j) {
  return std::sin(static_cast<double>(1 + i * i * 31 + j * 17 + i * j)) + (i == j ? 4 : 0);
}

std::vector<double> array_of(std::int64_t rows, std::int64_t columns, const ElementFunction& f) {
  return dense(rows, columns, rows, f);
}

bool is_small(std::int64_t n, const SolveOptions& options) {
  return speedwell::is_small(MPI_COMM_SELF, n, options);
}

/// What `work` throws: its words, and the kind of error before them.
std::string thrown(const std::function<void()>& work) {
  try {
    work();
  } catch (const UsageError& error) {
    return std::string("usage: ") + error.what();
  } catch (const SingularError& error) {
    return "singular at " + std::to_string(error.pivot()) + ": " + error.what();
  } catch (const AccuracyError& error) {
    return std::string("accuracy: ") + error.what();
  } catch (const Fault& error) {
    return std::string("fault: ") + error.what();
  }
  return "nothing";
}

/// The pages of memory that this process has now.
std::int64_t resident_pages() {
  std::int64_t all = 0;
  std::int64_t resident = 0;
  std::ifstream("/proc/self/statm") >> all >> resident;
  return resident;
}

}  // namespace

TEST_CASE("which systems are small", "[small]") {
  CHECK(is_small(1, {}));
  CHECK(is_small(small_limit(), {}));
  CHECK_FALSE(is_small(small_limit() + 1, {}));
  CHECK(is_small(10, on_cpu()));
  CHECK(speedwell::is_small(MPI_COMM_WORLD, 10, {}) == (ranks_in(MPI_COMM_WORLD) == 1));
  const auto with = [](const auto& change) {
    SolveOptions options;
    change(options);
    return is_small(10, options);
  };
  CHECK(with([](auto& o) { o.precision = Precision::fp64; }));
  CHECK(with([](auto& o) { o.refine = RefineMethod::ir; }));
  CHECK(with([](auto& o) { o.run.threads = 3; }));
  CHECK(with([](auto& o) { o.tolerance = 1e-3; }));
  CHECK_FALSE(with([](auto& o) { o.precision = Precision::fp16; }));
  CHECK_FALSE(with([](auto& o) { o.precision = Precision::fp32; }));
  CHECK_FALSE(with([](auto& o) { o.refine = RefineMethod::gmres; }));
  CHECK_FALSE(with([](auto& o) { o.run.nb = 4; }));
  CHECK_FALSE(with([](auto& o) { o.run.nprow = 1; }));
  CHECK_FALSE(with([](auto& o) { o.run.npcol = 1; }));
  CHECK_FALSE(with([](auto& o) { o.run.lookahead = 1; }));
  CHECK_FALSE(with([](auto& o) { o.run.chunk = 64; }));
  CHECK_FALSE(with([](auto& o) { o.run.gpus = {0}; }));
  CHECK_FALSE(with([](auto& o) { o.run.device = DeviceKind::cuda; }));
  CHECK_FALSE(with([](auto& o) { o.run.stall_timeout = 10; }));
  // What is not allowed at all is refused by the solver that says so.
  CHECK_FALSE(with([](auto& o) { o.run.threads = -1; }));
  CHECK_FALSE(with([](auto& o) { o.tolerance = 1; }));
  CHECK_FALSE(with([](auto& o) { o.tolerance = std::nan(""); }));
  CHECK_FALSE(with([](auto& o) { o.max_iterations = 0; }));
}

TEST_CASE("a small system has the x and the errors of the solver of large ones", "[small]") {
  for (const std::int64_t n : {1, 2, 3, 10, 61, 200, 300})
    for (const bool equilibrate : {true, false}) {
      CAPTURE(n, equilibrate);
      const std::int64_t lda = n + 3;
      const std::int64_t count = 4;
      const auto size = [](std::int64_t k) { return std::array{1., 0., 1e300, 1e-290}.at(k); };
      const auto b = array_of(n, count, [&](auto i, auto k) { return size(k) * waves(i, k + 5); });
      const std::vector<double> a = dense(n, n, lda, waves);
      SolveOptions options = on_cpu();
      options.equilibrate = equilibrate;
      options.run.threads = 1;
      const auto solution = [&](const SolveOptions& o) {
        return solve(MPI_COMM_SELF, Matrix::dense(n, a.data(), lda),
                     RightHandSide::dense(count, b.data(), n), o);
      };
      const Solution s = solution(options);
      SolveOptions general = in_blocks(options);
      general.precision = Precision::fp64;
      const Solution expected = solution(general);
      CHECK(s.n == n);
      CHECK(s.converged);
      REQUIRE(s.steps.size() == 1);
      CHECK(s.steps[0].precision == Precision::fp64);
      CHECK(s.steps[0].solved);
      CHECK(s.steps[0].iterations > 0);
      CHECK(s.steps[0].bad_pivot == -1);
      CHECK(s.steps[0].factor_seconds > 0);
      CHECK(s.steps[0].refine_seconds > 0);
      CHECK(s.seconds > s.steps[0].factor_seconds + s.steps[0].refine_seconds);
      CHECK(s.load_seconds >= 0);
      CHECK(s.check_seconds > 0);
      CHECK(s.norm_a == Approx(expected.norm_a).epsilon(1e-13));
      CHECK(s.condition == Approx(expected.condition).epsilon(1e-10));
      CHECK(s.equilibrated == expected.equilibrated);
      CHECK(s.device == expected.device);
      CHECK(s.chosen.device == DeviceKind::cpu);
      CHECK(s.chosen.nprow * s.chosen.npcol == 1);
      CHECK(s.chosen.comm == expected.chosen.comm);
      CHECK(s.chosen.threads == expected.chosen.threads);
      CHECK(s.chosen.nb == n);
      CHECK(s.panel_width == n);
      REQUIRE(std::ssize(s.columns) == count);
      REQUIRE(std::ssize(s.x) == n * count);
      for (std::size_t k = 0; k < s.columns.size(); ++k) {
        const SolveColumn& column = s.columns[k];
        CAPTURE(k, column.componentwise_error, expected.columns[k].componentwise_error);
        CHECK(column.converged);
        CHECK(column.precision == Precision::fp64);
        CHECK(column.method == RefineMethod::ir);
        CHECK(column.iterations >= 1);
        const double allowed = std::max(4., std::sqrt(static_cast<double>(n))) * 0x1p-53;
        CHECK(column.componentwise_error <= allowed);
        CHECK(column.backward_error <= allowed);
        CHECK(column.forward_bound <= 3 * expected.columns[k].forward_bound);
        CHECK(column.forward_bound >= expected.columns[k].forward_bound / 3);
        double most = 0;
        double apart = 0;
        for (std::int64_t i = 0; i < n; ++i) {
          const auto at = static_cast<std::size_t>(i) + k * static_cast<std::size_t>(n);
          most = std::max(most, std::fabs(s.x[at]));
          apart = std::max(apart, std::fabs(s.x[at] - expected.x[at]));
        }
        CHECK(apart <= (column.forward_bound + expected.columns[k].forward_bound) * most);
      }
      CHECK(s.columns[1].componentwise_error == 0);
      CHECK(s.columns[1].iterations == 1);
    }
}

TEST_CASE("a small system in every form", "[small]") {
  constexpr std::int64_t n = 37;
  const auto right = [](std::int64_t i, std::int64_t k) { return waves(i, k + 3); };
  const std::vector<double> a = array_of(n, n, waves);
  const std::vector<double> b = array_of(n, 2, right);
  const Descriptor of_a{1, 0, n, n, 8, 8, 0, 0, n};
  const Descriptor of_b{1, 0, n, 2, 5, 1, 0, 0, n};
  const std::vector<Matrix> matrices{Matrix::dense(n, a.data(), n), Matrix::from_function(n, waves),
                                     Matrix::block_cyclic(of_a, a.data())};
  const std::vector<RightHandSide> sides{RightHandSide::dense(2, b.data(), n),
                                         RightHandSide::from_function(2, right),
                                         RightHandSide::block_cyclic(of_b, b.data())};
  const std::vector<double> x = solve(MPI_COMM_SELF, matrices[0], sides[0], on_cpu()).x;
  for (const Matrix& matrix : matrices) {
    for (const RightHandSide& side : sides) {
      const Solution s = solve(MPI_COMM_SELF, matrix, side, on_cpu());
      CHECK(s.x == x);
      CHECK(s.precision() == Precision::fp64);
    }
    const Solution ones = solve(MPI_COMM_SELF, matrix, RightHandSide::of_ones(), on_cpu());
    REQUIRE(std::ssize(ones.x) == n);
    for (const double value : ones.x)
      CHECK(std::fabs(value - 1) <= ones.columns.at(0).forward_bound + 0x1p-52);
  }
}

TEST_CASE("a small system that is refused or fails has the words of the large ones", "[small]") {
  constexpr double inf = std::numeric_limits<double>::infinity();
  constexpr std::int64_t n = 21;
  const auto both = [](const Matrix& a, const RightHandSide& b, SolveOptions o = on_cpu()) {
    std::string words = thrown([&] { solve(MPI_COMM_SELF, a, b, in_blocks(o)); });
    CHECK(words != "nothing");
    CHECK(thrown([&] { solve(MPI_COMM_SELF, a, b, o); }) == words);
    CHECK(thrown([&] { Factorization(MPI_COMM_SELF, a, o).solve(b); }) == words);
    return words;
  };
  const RightHandSide ones = RightHandSide::of_ones();
  const Matrix good = Matrix::from_function(n, waves);
  const auto but = [](std::int64_t i, std::int64_t j, double value) {
    return [=](std::int64_t row, std::int64_t column) {
      return row == i && column == j ? value : waves(row, column);
    };
  };
  for (const double bad : {inf, -inf, std::nan("")}) {
    CHECK(both(Matrix::from_function(n, but(3, 7, bad)), ones).find("A(4, 8) is") !=
          std::string::npos);
    CHECK(both(good, RightHandSide::from_function(3, but(5, 1, bad))).find("b(6, 2) is") !=
          std::string::npos);
  }
  const std::vector<double> a = array_of(n, n, waves);
  both(Matrix::dense(n, a.data(), n - 1), ones);
  both(Matrix::dense(n, nullptr, n), ones);
  both(Matrix::dense(n, a.data(), n, 1), ones);
  both(good, RightHandSide::dense(1, a.data(), n - 1));
  both(good, RightHandSide::dense(0, a.data(), n));
  both(good, RightHandSide::dense(1, nullptr, n));
  both(good, RightHandSide::block_cyclic({1, 0, n + 1, 1, 8, 8, 0, 0, n + 1}, a.data()));
  both(Matrix::block_cyclic({1, 0, n, n, 8, 8, 1, 0, n}, a.data()), ones);
  both(Matrix::dense(0, a.data(), 1), ones);
  for (const auto& change : std::vector<std::function<void(SolveOptions&)>>{
           [](auto& o) { o.tolerance = -1; }, [](auto& o) { o.run.threads = 1 << 20; },
           [](auto& o) { o.max_iterations = -1; }}) {
    SolveOptions options = on_cpu();
    change(options);
    both(good, ones, options);
  }
  // Singular: the pivot and the words are those of the FP64 step.
  for (const std::int64_t zero : {0, 9, 20})
    CHECK(
        both(Matrix::from_function(n, [=](auto i, auto j) { return j == zero ? 0 : waves(i, j); }),
             ones)
            .starts_with("singular at " + std::to_string(zero)));
  both(Matrix::from_function(n, [](auto, auto) { return 0.; }), ones);
  both(Matrix::from_function(1, [](auto, auto) { return 0.; }), ones);
  // No x is as accurate as this.
  SolveOptions impossible = on_cpu();
  impossible.tolerance = 1e-20;
  impossible.precision = Precision::fp64;
  CHECK(thrown([&] {
          solve(MPI_COMM_SELF, good, RightHandSide::dense(1, a.data(), n), impossible);
        }).starts_with("accuracy: no x of the accuracy that was asked for: fp64: componentwise"));
}

TEST_CASE("a small system that is nearly singular has a doubt, as a large one has", "[small]") {
  constexpr std::int64_t n = 45;
  const auto equal_rows = [](auto i, auto j) { return waves(i == 20 ? 3 : i, j); };
  const auto outcome = [&](const SolveOptions& options) {
    std::string doubt;
    const std::string words = thrown([&] {
      const auto solver =
          make_solver(MPI_COMM_SELF, Matrix::from_function(n, equal_rows), options, {});
      solver->factor();
      doubt = solver->solve(RightHandSide::of_ones().source(), Transpose::no).doubt;
      CHECK(doubt.find("singular to working precision") != std::string::npos);
    });
    return words + doubt;
  };
  CHECK(outcome(on_cpu()).substr(0, 40) == outcome(in_blocks(on_cpu())).substr(0, 40));
}

TEST_CASE("where entries grow, the solver of large systems takes over", "[small]") {
  constexpr std::int64_t n = 80;
  // Wilkinson's matrix: entries of the last column double at each step.
  const auto wilkinson = [](std::int64_t i, std::int64_t j) {
    return j == n - 1 || i == j ? 1. : i > j ? -1. : 0.;
  };
  const Solution s = solve(MPI_COMM_SELF, Matrix::from_function(n, wilkinson),
                           RightHandSide::from_function(1, waves), on_cpu());
  CHECK(s.doubt.empty());
  CHECK(s.converged);
  REQUIRE(s.steps.size() == 2);
  CHECK(s.steps[0].growth >= std::ldexp(1.0, n - 2));  // 2^(n - 1), to a factor of two
  CHECK(s.steps[1].rotated);
  CHECK(s.steps[1].growth < 100);
  CHECK(s.condition < 200);
  CHECK(s.columns[0].forward_bound < 1e-12);
  // A function that counts its calls: A is loaded once, also where the solver changes.
  std::atomic<int> calls = 0;
  const Matrix counted = Matrix::from_function(n, [&](auto i, auto j) {
    ++calls;
    return wilkinson(i, j);
  });
  thrown([&] { solve(MPI_COMM_SELF, counted, RightHandSide::of_ones(), on_cpu()); });
  CHECK(calls == n * n);
}

TEST_CASE("a small system is factored once and solved many times", "[small]") {
  constexpr std::int64_t n = 50;
  const std::vector<double> a = array_of(n, n, waves);
  int done = 0;
  Factorization factors(MPI_COMM_SELF, Matrix::dense(n, a.data(), n), on_cpu(),
                        [&](const Progress& p) { done += p.columns_done == n && p.n == n; });
  CHECK(done == 1);
  CHECK(factors.n() == n);
  Solution first;
  for (int turn = 0; turn < 5; ++turn) {
    const auto right = [=](std::int64_t i, std::int64_t k) { return waves(i + turn, k); };
    const std::vector<double> b = array_of(n, 1, right);
    const RightHandSide side = RightHandSide::dense(1, b.data(), n);
    const Solution s = factors.solve(side);
    CHECK(s.x == solve(MPI_COMM_SELF, Matrix::dense(n, a.data(), n), side, on_cpu()).x);
    REQUIRE(s.steps.size() == 1);
    if (turn == 0) first = s;
    CHECK((s.steps[0].factor_seconds > 0) == (turn == 0));
    CHECK(s.condition == first.condition);
    CHECK(s.steps[0].iterations == s.columns[0].iterations);
    // A right-hand side that is refused leaves the factors as they are.
    CHECK(thrown([&] {
            factors.solve(RightHandSide::from_function(1, [](auto, auto) { return NAN; }));
          }).starts_with("usage: b(1, 1) is nan"));
  }
  Factorization moved = std::move(factors);
  CHECK(moved.solve(RightHandSide::of_ones()).precision() == Precision::fp64);
}

TEST_CASE("columns that differ by a power of two are a doubt, or a singular A", "[small]") {
  constexpr std::int64_t n = 8;
  for (std::int64_t k = 0; k < n * n; ++k) {
    const std::int64_t one = k % n;
    const std::int64_t other = k / n;
    if (one >= other) continue;
    CAPTURE(one, other);
    const Matrix a = Matrix::from_function(n, [&](std::int64_t i, std::int64_t j) {
      const auto place = static_cast<std::uint64_t>(i + n * (j == other ? one : j));
      return symmetric_number(random_bits(0, place)) * (j == other ? 0.25 : 1);
    });
    std::string doubt;
    try {
      doubt = solve(MPI_COMM_SELF, a, RightHandSide::of_ones(), on_cpu()).doubt;
    } catch (const SingularError& error) {
      doubt = error.what();
    }
    CHECK(doubt.find("singular") != std::string::npos);
  }
}

TEST_CASE("a small system leaves the numbers of threads as they were", "[small][threads]") {
  const OwnThreadCounts own;
  constexpr std::int64_t n = 40;
  for (const int threads : {0, 1, 3}) {
    SolveOptions options = on_cpu();
    options.run.threads = threads;
    std::atomic<int> team = 0;
    const Matrix a = Matrix::from_function(n, [&](auto i, auto j) {
      team = omp_get_num_threads();
      return waves(i, j);
    });
    Factorization factors(MPI_COMM_SELF, a, options);
    if (threads > 0) CHECK(team == threads);
    CHECK(thread_counts() == own.counts);
    CHECK(factors.solve(RightHandSide::of_ones()).converged);
    CHECK(thread_counts() == own.counts);
    CHECK(thrown([&] {
            solve(MPI_COMM_SELF, Matrix::from_function(n, [](auto, auto) { return 1.; }),
                  RightHandSide::of_ones(), options);
          }).starts_with("singular"));
    CHECK(thread_counts() == own.counts);
  }
}

// The address sanitizer keeps freed memory for a while.
#ifndef __SANITIZE_ADDRESS__
TEST_CASE("ten thousand small systems in a row do not let memory grow", "[small]") {
  for (const std::int64_t n : {10, 50}) {
    const std::vector<double> a = array_of(n, n, waves);
    const Matrix matrix = Matrix::dense(n, a.data(), n);
    const RightHandSide b = RightHandSide::dense(1, a.data(), n);
    std::int64_t after_1000 = 0;
    int solved = 0;
    for (int call = 0; call < 10000; ++call) {
      const Solution s = call % 2 == 0 ? solve(MPI_COMM_SELF, matrix, b, on_cpu())
                                       : Factorization(MPI_COMM_SELF, matrix, on_cpu()).solve(b);
      solved += s.converged;
      if (call == 999) after_1000 = resident_pages();
    }
    CHECK(solved == 10000);
    CHECK(resident_pages() - after_1000 < 64);
  }
}
#endif
}  // namespace speedwell::test::small_tests
