// SPDX-License-Identifier: BSD-3-Clause
// speedwell::solve on the gallery, compared with LAPACK and with arithmetic of 113 bits.
#include <speedwell/solve.hpp>

#include <map>
#include <optional>

#include "catch.hpp"
#include "judge.hpp"

namespace speedwell::test::solve_tests {
namespace {

// The first and the last step that may be the one that solves, by theory. `automatic` stands for
// the 16-bit step with which the escalation begins. That step solves all examples that are not
// listed, by classical refinement while kappa u < 1 and else by GMRES in few steps.
struct Steps {
  Precision first;
  Precision last;
};
constexpr Precision first_step = Precision::automatic;
const std::map<std::string, Steps> later_steps{
    // With geometric singular values, GMRES needs kappa u of the factors below some thousands.
    {"kappa 1e6", {first_step, Precision::fp32}},
    {"kappa 1e8", {Precision::fp32, Precision::fp32}},
    {"kappa 1e10", {Precision::fp32, Precision::fp64}},
    {"kappa 1e12", {Precision::fp64, Precision::fp64}},
    {"kappa 1e14", {Precision::fp64, Precision::fp64}},
    // At 1 / eps and beyond only FP64's pivots tell whether A is singular.
    {"kappa 1e16", {Precision::fp64, Precision::fp64}},
    {"one small value, kappa 1e16", {Precision::fp64, Precision::fp64}},
    {"Hilbert 13", {Precision::fp64, Precision::fp64}},
    {"Hilbert 30", {Precision::fp64, Precision::fp64}},
    {"Frank 20", {Precision::fp64, Precision::fp64}},
    {"Kahan 90", {Precision::fp64, Precision::fp64}},
    {"Hessenberg", {Precision::fp64, Precision::fp64}},
    {"Toeplitz, prolate", {Precision::fp64, Precision::fp64}},
    // Condition numbers between the two groups above, and so few unknowns that GMRES may end
    // because
    // it has made n steps.
    {"Hilbert 10", {first_step, Precision::fp64}},
    {"Frank 16", {first_step, Precision::fp64}},
    {"Vandermonde 17", {first_step, Precision::fp64}},
    {"Vandermonde 34, Chebyshev's points", {Precision::fp32, Precision::fp64}},
    {"Wilkinson's growth 97", {Precision::fp64, Precision::fp64}},
    // The rows are equal up to the last bits of FP64.
    {"n = 2, nearly singular", {Precision::fp64, Precision::fp64}},
};
/// The solutions of runs with a fixed precision.
using Runs = std::map<Precision, Solution>;

/// The precision with which the escalation from `start` by `between` must end, by the runs with
/// fixed precisions. It must be FP64 where A may be singular to working precision.
Precision reached(const Runs& runs, Precision start, Precision between = Precision::fp32) {
  for (const Precision p : {start, between})
    if (const Solution& s = runs.at(p);
        s.converged && !s.condition_at_least && s.condition * eps < 1)
      return p;
  return Precision::fp64;
}

void judge_steps(const Example& e, const Runs& runs) {
  const auto listed = later_steps.find(e.name);
  const Steps allowed =
      listed == later_steps.end() ? Steps{first_step, first_step} : listed->second;
  for (const Precision start : {Precision::fp16, Precision::bf16})
    for (const Precision between : {Precision::fp32, Precision::fp16x3}) {
      const Precision ends = reached(runs, start, between);
      const Solution& first = runs.at(start);
      CAPTURE(name(start), name(between), name(ends), first.converged, first.condition);
      const auto unit = [&](Precision p) {
        return unit_roundoff(p == first_step ? start : p == Precision::fp32 ? between : p);
      };
      CHECK(unit_roundoff(ends) <= unit(allowed.first));
      // A step that solves is left too where its factors give no more than a lower bound of the
      // condition number, and no sample of so small an A says more.
      if (!first.condition_at_least) CHECK(unit_roundoff(ends) >= unit(allowed.last));
    }
  // FP16x3 solves what FP32 solves, luck beyond theory aside.
  for (const Precision p : {Precision::fp32, Precision::fp16x3}) {
    CAPTURE(name(p));
    const double rate = runs.at(Precision::fp64).condition * unit_roundoff(p);
    CHECK((runs.at(p).converged || allowed.last == Precision::fp64 || rate > 10));
  }
  CHECK(runs.at(Precision::fp64).converged);
}

/// Checks method and number of corrections. Each correction of classical refinement reduces the
/// error by a factor of about kappa u.
void judge_refinement(const Example& e, const Reference& reference, const Solution& solution) {
  const double rate = reference.condition({}) * unit_roundoff(solution.precision());
  CAPTURE(rate, solution.condition);
  for (const SolveColumn& column : solution.columns) {
    CAPTURE(name(column.precision), name(column.method), column.iterations);
    CHECK(column.iterations <= 50);
    if (!column.converged || column.precision != solution.precision()) continue;
    CHECK(column.iterations >= 1);
    if (rate < 0.25 && reference.growth() < 100) {
      CHECK(column.method == RefineMethod::ir);
      CHECK(column.iterations <= 12);
    }
    // FP16x3, emulated in FP32, has two bits more than its unit roundoff says.
    const double slow = solution.precision() == Precision::fp16x3 ? 400 : 100;
    if (rate > slow && e.name.starts_with("kappa") && solution.precision() != Precision::fp64)
      CHECK(column.method == RefineMethod::gmres);
  }
}

}  // namespace

TEST_CASE("each example is solved in a step that theory expects", "[solve]") {
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const auto shapes = grids(all.size());
  std::size_t index = 0;
  for (const Example& e : gallery()) {
    if (e.a.n > largest_order()) continue;
    const GridShape shape = shapes[index++ % shapes.size()];
    const std::int64_t nb = index % 2 == 0 ? 8 : 16;
    CAPTURE(e.name, e.a.n, nb, shape.nprow, shape.npcol, name(shape.order));
    std::optional<Reference> reference;
    if (all.rank() == 0) reference.emplace(e);
    const auto run = [&](Precision precision) {
      const SolveOptions options = solve_options(shape, nb, precision);
      CAPTURE(name(precision));
      Solution solution =
          best_of([&] { return solve(MPI_COMM_WORLD, given(e.a), given(e.b), options); });
      if (reference) reference->judge(solution, options);
      if (reference) judge_refinement(e, *reference, solution);
      return solution;
    };
    Runs runs;
    for (const auto p :
         {Precision::fp16, Precision::bf16, Precision::fp16x3, Precision::fp32, Precision::fp64})
      runs.emplace(p, run(p));
    judge_steps(e, runs);
    const Solution automatic = run(Precision::automatic);
    CHECK(automatic.converged);
    // A forecast may end a step that would solve slowly, in favour of FP64.
    const Precision wanted = reached(runs, automatic.steps.front().precision);
    if (automatic.precision() != wanted) CHECK(automatic.precision() == Precision::fp64);
    CHECK(automatic.steps.size() <= (automatic.steps.back().rotated ? 3 : 2));
  }
}

TEST_CASE("each example is solved as a small system, most of them by LAPACK's LU",
          "[solve][small]") {
  if (rank_in(MPI_COMM_WORLD) != 0) return;
  std::vector<std::string> stepped;
  for (const Example& e : gallery())
    for (const bool equilibrate : {true, false}) {
      // Without scales its products underflow, with any solver.
      if (!equilibrate && e.name == "rows 1e-200 to 1e200") continue;
      CAPTURE(e.name, e.a.n, equilibrate);
      SolveOptions options;
      options.run.device = DeviceKind::cpu;
      options.run.threads = 1;
      options.equilibrate = equilibrate;
      const Reference reference(e);
      const Solution solution =
          best_of([&] { return solve(MPI_COMM_SELF, given(e.a), given(e.b), options); });
      CHECK(solution.converged);
      reference.judge(solution, options);
      judge_refinement(e, reference, solution);
      if (solution.steps.front().precision != Precision::fp64) stepped.push_back(e.name);
      // The refinement goes on until the error no longer halves.
      for (const SolveColumn& column : solution.columns)
        CHECK((column.iterations >= 2 || column.componentwise_error <= eps));
    }
  CAPTURE(stepped);
  CHECK(stepped.size() <= 30);
}
}  // namespace speedwell::test::solve_tests
