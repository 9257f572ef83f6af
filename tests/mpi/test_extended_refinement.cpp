// SPDX-License-Identifier: BSD-3-Clause
// Refinement with residuals in twice FP64's precision: of x itself, and of many vectors.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>

#include "catch.hpp"
#include "clocks.hpp"
#include "held_problem.hpp"

namespace speedwell::test::extended_refinement_tests {
namespace {

/// A matrix in memory with which a product takes a second of the clock, and ten or more in twice
/// FP64's precision, for which the matrix itself is asked for.
class TimedMatrix final : public LocalMatrix {
 public:
  TimedMatrix(ConstAnyMatrix a, SetClock& clock) : a_(held_matrix(a)), clock_(clock) {}
  void multiply(Device& device, Queue& queue, Transpose transpose, MatrixView<const double> x,
                MatrixView<double> ax, double* abs_rows, MatrixView<double> abs_ax,
                MatrixChecksum* checksum) const override {
    clock_.time += 1;
    a_->multiply(device, queue, transpose, x, ax, abs_rows, abs_ax, checksum);
  }
  std::optional<ConstAnyMatrix> held() const override {
    clock_.time += 10;
    return a_->held();
  }

 private:
  std::unique_ptr<LocalMatrix> a_;
  SetClock& clock_;
};

/// The matrix of HPL with its factors in FP32.
struct FactoredProblem : HeldProblem {
  FactoredProblem(const Communicator& all, GridShape shape,
                  const Clock& clock = RunContext::none().clock())
      : HeldProblem(all, shape, matrix_of(MatrixKind::hpl, order(), 8), Precision::fp32, clock) {
    factor_in(Precision::fp32);
  }
};

}  // namespace

TEST_CASE("x itself is refined after its backward error where that is worth its time", "[refine]") {
  const Communicator all = world();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    FactoredProblem p(all, shape);
    System system = p.system();
    REQUIRE(system.is_extended());
    LuSolver solver = p.solver();
    const MultiVector b = local(system.b_part(), random_vectors(order(), 2));
    const auto refined = [&](bool forward, double worth) {
      return refine(system, solver, b,
                    {.stop = StopRule::componentwise, .forward = forward, .forward_worth = worth});
    };
    const auto asked = refined(true, 0);
    const auto worthwhile = refined(false, 1e9);
    const auto dear = refined(false, 1e-12);
    const auto plain = refined(false, 0);
    for (std::size_t k = 0; k < 2; ++k) {
      CHECK(worthwhile[k].forward);
      CHECK(worthwhile[k].converged);
      CHECK(worthwhile[k].norm_error <= eps / 8);
      CHECK(worthwhile[k].iterations > plain[k].iterations);
      CHECK(worthwhile[k].times.forward > 0);
      const double size = system.x_space().largest(MultiVector(asked[k].x))[0];
      for (std::size_t i = 0; i < asked[k].x.size(); ++i)
        CHECK(std::fabs(worthwhile[k].x[i] - asked[k].x[i]) <= 2 * eps * size);
      CHECK(dear[k].times.forward > 1e-12);
      CHECK(plain[k].times.forward == 0);
      for (const RefineOutcome& outcome : {dear[k], plain[k]}) {
        CHECK_FALSE(outcome.forward);
        CHECK(outcome.converged);
        CHECK(outcome.x == plain[k].x);
        CHECK(outcome.norm_error == infinity);
      }
    }
  }
}

TEST_CASE("the first residual in twice FP64's precision tells whether more of them are worth it",
          "[refine]") {
  const Communicator all = world();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    SetClock clock;
    FactoredProblem p(all, shape, clock);
    System system(p.grid, *p.device, std::make_unique<TimedMatrix>(p.held.local(), clock),
                  p.a.rows(), p.a.columns());
    LuSolver solver = p.solver();
    const MultiVector b = local(system.b_part(), random_vectors(order(), 1));
    const auto refined = [&](double worth) {
      return refine(system, solver, b, {.stop = StopRule::componentwise, .forward_worth = worth})
          .front();
    };
    const RefineOutcome plain = refined(0);
    const RefineOutcome ended = refined(5);  // three residuals in FP64 take 3 seconds
    CHECK_FALSE(ended.forward);
    CHECK(ended.converged);
    CHECK(ended.x == plain.x);
    CHECK(ended.residual == plain.residual);
    CHECK(ended.low.empty());
    CHECK(ended.iterations == plain.iterations);
    CHECK(ended.times.forward >= 30);
    CHECK(refined(1000).forward);
  }
}

TEST_CASE("residuals of many vectors that small corrections have updated", "[refine][many]") {
  const Communicator all = world();
  for (const GridShape shape : grids(all.size())) {
    CAPTURE(shape.nprow, shape.npcol);
    FactoredProblem p(all, shape);
    System system = p.system();
    LuSolver solver = p.solver();
    const MultiVector b = local(system.b_part(), random_vectors(order(), 11));
    // By this tolerance, FP64 residuals leave errors large enough for roundings of updates to show.
    const auto refined = [&](double condition) {
      return refine(
          system, solver, b,
          {.stop = StopRule::componentwise, .tolerance = 1e-4, .forward = true, .condition = [=] {
             return condition;
           }});
    };
    for (const double condition : {10., infinity}) {
      CAPTURE(condition);
      const std::vector<RefineOutcome> all_found = refined(condition);
      const auto is_updated = [](const RefineOutcome& found) { return found.updates > 0; };
      CHECK(std::ranges::any_of(all_found, is_updated) == std::isfinite(condition));
      for (std::size_t k = 0; const RefineOutcome& found : all_found) {
        CAPTURE(k);
        CHECK(found.converged);
        CHECK(found.norm_error <= eps / 8);
        CHECK((found.drift > 0) == is_updated(found));
        const System::Errors exact =
            system.extended_errors(MultiVector(found.x), MultiVector(found.low),
                                   MultiVector(b.vector(static_cast<std::int64_t>(k++))), true);
        for (std::size_t i = 0; i < found.extended.size(); ++i) {
          const double allowed =
              2 * system.extended_error() * exact.bound[0][i] + found.drift * system.row_sums()[i];
          CHECK(std::fabs(found.extended[i] - exact.extended[0][i]) <= allowed);
          CHECK(std::fabs(found.residual[i] - exact.residual[0][i]) <=
                allowed + eps * std::fabs(found.residual[i]));
        }
      }
    }
  }
}

}  // namespace speedwell::test::extended_refinement_tests
