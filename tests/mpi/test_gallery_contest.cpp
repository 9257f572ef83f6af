// SPDX-License-Identifier: BSD-3-Clause
// speedwell::solve and LAPACK in turns, on users' systems with one or several right-hand sides.
#include <speedwell/error.hpp>
#include <speedwell/solve.hpp>

#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "compare/contest.hpp"
#include "compare/known_system.hpp"
#include "compare/lapack_run.hpp"
#include "core/numbers.hpp"
#include "device_choice.hpp"

namespace speedwell::test::gallery_contest_tests {
namespace {

CompareOptions everybody(std::int64_t rhs, GalleryKind kind = GalleryKind::gaussian) {
  return {
      .gallery = kind,
      .rhs = rhs,
      .solvers = {SolverKind::solve, SolverKind::dgesv, SolverKind::dsgesv, SolverKind::dgesvx}};
}

BenchmarkOptions system_of(std::int64_t n) {
  BenchmarkOptions options;
  options.n = n;
  options.run.threads = 1;
  options.run.device = test::device_choice().device;
  options.run.comm = test::device_choice().comm;
  return options;
}

}  // namespace

TEST_CASE("all solvers solve for every right-hand side", "[compare]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const std::int64_t n : {1, 41})
    for (const std::int64_t rhs : {1, 3, 300, 0}) {
      CAPTURE(n, rhs);
      const auto contest = gallery_contest(all, everybody(rhs), system_of(n));
      std::vector<SolverKind> turns;
      contest->round([&](const ComparedSolver& one) { turns.push_back(one.solver); });
      CHECK(contest->passed());
      const Comparison& result = contest->comparison();
      CHECK(result.rhs == (rhs == 0 ? n : rhs));
      if (all.rank() != 0) continue;
      CHECK(turns == everybody(rhs).solvers);
      for (const ComparedSolver& one : result.solvers) {
        CHECK(one.turns.front().scaled_residual < 16);
        CHECK((n == 1 || one.turns.front().scaled_residual > 0));
      }
    }
}

TEST_CASE("complex systems, by LAPACK's complex drivers", "[compare][complex]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GalleryKind kind : {GalleryKind::complex_gaussian, GalleryKind::complex_shifted,
                                 GalleryKind::sphere, GalleryKind::plate})
    for (const std::int64_t n : {1, 41}) {
      CAPTURE(name(kind), n);
      BenchmarkOptions options = system_of(n);
      options.run.device = DeviceKind::cpu;
      options.run.comm = CommMethod::automatic;
      const auto contest = gallery_contest(all, everybody(3, kind), options);
      contest->round([](const ComparedSolver&) {});
      CHECK(contest->passed());
      if (all.rank() != 0) continue;
      std::vector<std::string> titles;
      for (const ComparedSolver& one : contest->comparison().solvers) {
        titles.push_back(title(one));
        CHECK(one.turns.front().scaled_residual < 16);
        CHECK((n == 1 || one.turns.front().scaled_residual > 0));
      }
      CHECK(titles == std::vector<std::string>{"solve", "zgesv", "zcgesv", "zgesvx"});
    }
}

TEST_CASE("a contest fails on every rank where the worst residual is too large", "[compare]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  BenchmarkOptions options = system_of(41);
  options.threshold = 1e-12;
  const auto contest = gallery_contest(all, everybody(3), options);
  contest->round([](const ComparedSolver&) {});
  CHECK_FALSE(contest->passed());
}

// gaussian of this order has a condition number of some thousands: FP64 residuals leave an error of
// that many eps, and residuals in twice FP64's precision none.
TEST_CASE("accuracy: forward finds the known x to its last digit, and bounds hold", "[compare]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const GalleryKind kind : {GalleryKind::gaussian, GalleryKind::complex_gaussian})
    for (const std::int64_t n : {1, 200}) {
      CAPTURE(name(kind), n);
      const bool real = field_of_kind(kind) == Field::real;
      CompareOptions who = everybody(1, kind);
      who.accuracy = true;
      BenchmarkOptions options = system_of(n);
      options.run.device = DeviceKind::cpu;
      options.run.comm = CommMethod::automatic;
      const auto contest = gallery_contest(all, who, options);
      contest->round([](const ComparedSolver&) {});
      CHECK(contest->passed());
      if (all.rank() != 0) continue;
      std::map<std::string, Turn> found;
      for (const ComparedSolver& one : contest->comparison().solvers) {
        REQUIRE(one.turns.size() == 1);
        CHECK(std::isnan(one.turns.front().scaled_residual));
        CHECK(one.turns.front().x_is_known);
        found[title(one)] = one.turns.front();
      }
      CHECK(found.size() == 5);
      const std::string dgesv = real ? "dgesv" : "zgesv";
      CHECK(found.at("solve forward").error <= eps);
      CHECK(found.at("solve backward").error < 1e-11);
      CHECK(found.at(dgesv).error < 1e-11);
      CHECK(std::isnan(found.at(dgesv).bound));
      for (const char* name : {"solve backward", "solve forward", real ? "dgesvx" : "zgesvx"}) {
        CHECK(found.at(name).error <= found.at(name).bound);
        CHECK(found.at(name).condition > 0.99);
      }
      if (n == 1) continue;
      CHECK(found.at(dgesv).error > 4 * eps);
      CHECK(found.at("solve backward").error > 2 * eps);
      CHECK(found.at("solve forward").bound < found.at("solve backward").bound / 10);
    }
}

// Which of the two it is depends on measured times.
TEST_CASE("automatic accuracy: x to its last digit, or what that would have cost", "[compare]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const std::int64_t n : {100, 1600}) {
    CAPTURE(n);
    const KnownSystem system(GalleryKind::shifted, n, 1);
    const std::vector<double> b = system.right_hand_side();
    SolveOptions options;
    options.run.device = DeviceKind::cpu;
    options.run.threads = 1;
    options.accuracy = Accuracy::automatic;
    const Matrix a =
        Matrix::from_function(n, [&](std::int64_t i, std::int64_t j) { return system(i, j); });
    const auto entry = [&](std::int64_t i, std::int64_t) { return b[static_cast<std::size_t>(i)]; };
    const Solution s =
        solve(all.handle().as<MPI_Comm>(), a, RightHandSide::from_function(1, entry), options);
    const bool forward = s.accuracy == Accuracy::forward;
    CHECK(s.columns.front().accurate == forward);
    CHECK(largest_error(s.x, system.solution()) <= (forward ? eps : 1e-11));
    if (n < 1500)
      CHECK((!forward && s.accuracy_reason.empty()));
    else
      CHECK_THAT(s.accuracy_reason,
                 ContainsSubstring(forward ? "forward took " : "forward would take at least "));
    options.accuracy = Accuracy::backward;
    const Solution plain =
        solve(all.handle().as<MPI_Comm>(), a, RightHandSide::from_function(1, entry), options);
    CHECK((plain.accuracy == Accuracy::backward && plain.accuracy_reason.empty()));
  }
}

TEST_CASE("right-hand sides that do not fit are refused on every rank", "[compare]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  for (const SolverKind solver : everybody(1).solvers) {
    CompareOptions who = everybody(std::int64_t{1} << 40);
    who.solvers = {solver};
    CHECK_THROWS_AS(gallery_contest(all, who, system_of(41)), UsageError);
  }
}
}  // namespace speedwell::test::gallery_contest_tests
