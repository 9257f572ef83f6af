// SPDX-License-Identifier: BSD-3-Clause
// Rates that are measured, remembered and agreed on, and the choices that follow from them.
#include <fmt/format.h>
#include <speedwell/solve.hpp>

#include <array>
#include <cmath>

#include "catch.hpp"
#include "comm/communicator.hpp"
#include "compare/gallery_residual.hpp"
#include "device_choice.hpp"
#include "generate/gallery.hpp"
#include "pipeline.hpp"
#include "setup/plan.hpp"
#include "setup/rates.hpp"

namespace speedwell::test::rates_tests {
namespace {

constexpr std::array all_precisions{Precision::bf16, Precision::fp16, Precision::fp32,
                                    Precision::fp64, Precision::fp16x3};

RunOptions run_options() {
  RunOptions run;
  run.threads = 1;
  run.device = test::device_choice().device;
  run.comm = test::device_choice().comm;
  return run;
}

/// Forgets all rates when it is made and when it ends.
struct NoRates {
  NoRates() { forget_rates(); }
  ~NoRates() { forget_rates(); }
};

/// Makes rates known to this process, in GFLOP/s, in the order of all_precisions. Where
/// the last one, FP16x3's, is left out, it is 0, and FP16x3 is no step.
void plant(const Machine& machine, const std::array<double, 5>& gflops) {
  for (std::size_t i = 0; i < gflops.size(); ++i)
    remember({machine.device().description(), all_precisions[i], 0, gflops[i],
              "2026-11-22T10:00:00Z", ""});
}

SolveOptions solve_options() {
  SolveOptions o;
  o.run = run_options();
  o.run.nb = 16;
  return o;
}

/// Solves a system whose diagonal is `shift` and whose other elements are at most 1.
Solution solve_shifted(std::int64_t n, double shift, const SolveOptions& options) {
  const auto a = [=](std::int64_t i, std::int64_t j) {
    return std::sin(static_cast<double>(1 + i * 37 + j * 101)) + (i == j ? shift : 0);
  };
  return solve(MPI_COMM_WORLD, Matrix::from_function(n, a), RightHandSide::of_ones(), options);
}

std::vector<Precision> precisions(const Solution& s) {
  std::vector<Precision> all;
  for (const SolveStep& step : s.steps) all.push_back(step.precision);
  return all;
}

using List = std::vector<Precision>;

}  // namespace

TEST_CASE("rates are measured once, and all ranks have the same", "[rates]") {
  const NoRates none;
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const Machine machine(MPI_COMM_WORLD, run_options());
  if (!machine.device().shares_host_memory()) return;  // an emulated GPU would take minutes
  const std::int64_t n = 2048 * std::max(machine.facts().run.nprow, machine.facts().run.npcol);
  const Rates first = update_rates(machine, all_precisions, n);
  REQUIRE(first.all().size() == all_precisions.size());
  for (const Rate& rate : first.all()) {
    CAPTURE(name(rate.precision));
    CHECK(rate.flops > 1e6);
    CHECK(rate.origin == RateOrigin::measured);
    const double mine = rate.flops;
    CHECK(all.all_reduce(mine, Reduction::min) == all.all_reduce(mine, Reduction::max));
  }
  // Of a rank that other programs disturb, fewer rates are kept for later processes.
  CHECK(measured_rates().size() <= all_precisions.size());
  const Rates again = update_rates(machine, all_precisions, n);
  for (const Precision p : all_precisions) CHECK(again.of(p) == first.of(p));
}

TEST_CASE("a small problem measures nothing", "[rates]") {
  const NoRates none;
  const Machine machine(MPI_COMM_WORLD, run_options());
  const Rates rates = update_rates(machine, all_precisions, 100);
  for (const Rate& rate : rates.all()) CHECK(rate.origin == RateOrigin::assumed);
  CHECK(measured_rates().empty());
}

TEST_CASE("the slowest rank's rate counts, and a rate that one rank does not know is measured",
          "[rates]") {
  const NoRates none;
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const Machine machine(MPI_COMM_WORLD, run_options());
  const double mine = 100 - all.rank();
  plant(machine, {mine, mine, mine, mine, mine});
  const Rates rates = update_rates(machine, all_precisions, 100000);
  for (const Rate& rate : rates.all()) {
    CHECK(rate.flops == Approx((100. - (all.size() - 1)) * 1e9 * all.size()));
    CHECK(rate.origin == RateOrigin::remembered);
  }
  if (all.size() == 1) return;
  forget_rates();
  if (all.rank() == 0) plant(machine, {1, 1, 1, 1, 1});
  const Rates small = update_rates(machine, all_precisions, 100);
  for (const Rate& rate : small.all()) CHECK(rate.origin == RateOrigin::assumed);
}

TEST_CASE("HPL-MxP takes the fastest precision, also where ranks' rates differ", "[rates]") {
  const NoRates none;
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const Machine machine(MPI_COMM_WORLD, run_options());
  const auto chosen = [&](const std::array<double, 5>& gflops) {
    forget_rates();
    plant(machine, gflops);
    BenchmarkOptions o;
    o.n = 4000;  // small ones take FP32, which needs the fewest corrections
    o.run = run_options();
    return plan(machine, o);
  };
  const Setup bf16 = chosen({800, 300, 300, 150});
  CHECK(bf16.options.precision == Precision::bf16);
  CHECK_THAT(bf16.reasons.precision, ContainsSubstring("GFLOP/s; fp16"));
  CHECK(chosen({160, 400, 300, 150}).options.precision == Precision::fp16);
  CHECK(chosen({160, 304, 307, 150}).options.precision == Precision::fp32);
  // On the last rank, BF16 is slow.
  const bool last = all.rank() == all.size() - 1;
  CHECK(chosen({last ? 100. : 800., 300, 200, 100}).options.precision == Precision::fp16);
}

TEST_CASE("the steps of a solve follow from the rates", "[rates][solve]") {
  const NoRates none;
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const Machine machine(MPI_COMM_WORLD, run_options());
  const auto steps = [&](const std::array<double, 5>& gflops,
                         Precision first = Precision::automatic) {
    forget_rates();
    plant(machine, gflops);
    SolveOptions o = solve_options();
    o.first = first;
    return solve_shifted(120, 60, o);
  };
  const auto fast16 = steps({900, 100, 90, 10});
  CHECK(precisions(fast16) == List{Precision::bf16});
  CHECK_THAT(fast16.reason, ContainsSubstring(fmt::format("fp32 {}", 90 * all.size())));
  CHECK(precisions(steps({100, 900, 90, 10})) == List{Precision::fp16});
  CHECK(precisions(steps({90, 90, 90, 10})) == List{Precision::fp32});
  CHECK(precisions(steps({10, 10, 10, 10})) == List{Precision::fp64});
  CHECK(precisions(steps({10, 10, 10, 10}, Precision::fp16)) == List{Precision::fp16});
  CHECK(precisions(steps({900, 100, 90, 10}, Precision::fp32)) == List{Precision::fp32});
  // FP16x3 is a step where the device has FP16 products, or where the user names it.
  const bool native = machine.native(Precision::fp16x3);
  CHECK(precisions(steps({10, 10, 10, 10, 90})) ==
        List{native ? Precision::fp16x3 : Precision::fp64});
  CHECK(precisions(steps({10, 10, 10, 10, 5}, Precision::fp16x3)) == List{Precision::fp16x3});
  // Ranks whose measurements differ agree.
  const double mine = all.rank() % 2 == 0 ? 900 : 90;
  const Solution agreed = steps({mine, 90, 90, 10});
  CHECK(precisions(agreed) == List{all.size() > 1 ? Precision::fp32 : Precision::bf16});
}

TEST_CASE("at most one factorization fails", "[rates][solve]") {
  const NoRates none;
  const Machine machine(MPI_COMM_WORLD, run_options());
  plant(machine, {900, 100, 90, 10});
  const auto hilbert = [](std::int64_t i, std::int64_t j) {
    return 1 / static_cast<double>(i + j + 1);
  };
  SolveOptions o = solve_options();
  o.run.nb = 4;  // narrow panels, so that BF16 is predicted to be much faster
  const Solution s =
      solve(MPI_COMM_WORLD, Matrix::from_function(60, hilbert), RightHandSide::of_ones(), o);
  CHECK(precisions(s) == List{Precision::bf16, Precision::fp64});
  CHECK_FALSE(s.steps.front().why.empty());
  CHECK(s.steps.front().factor_seconds > 0);
}

TEST_CASE("a sample of an ill-conditioned matrix spares the steps that would fail",
          "[rates][solve]") {
  const NoRates none;
  const Machine machine(MPI_COMM_WORLD, run_options());
  plant(machine, {900, 100, 90, 10});
  SolveOptions o = solve_options();
  o.run.nb = 64;
  // The singular values fall from 1 to 10^-13 along the diagonal.
  constexpr std::int64_t n = 520;
  const auto a = [](std::int64_t i, std::int64_t j) {
    const auto d = [](std::int64_t k) {
      return std::pow(10., -13. * static_cast<double>(k) / (n - 1));
    };
    // (I - 2/n e e^T) D (I - 2/n e e^T), where e is the vector of ones.
    static const double sum = [&] {
      double all = 0;
      for (std::int64_t k = 0; k < n; ++k) all += d(k);
      return all;
    }();
    return (i == j ? d(i) : 0) - 2. / n * (d(i) + d(j)) + 4. / n / n * sum;
  };
  const Solution s =
      solve(MPI_COMM_WORLD, Matrix::from_function(n, a), RightHandSide::of_ones(), o);
  CHECK(precisions(s) == List{Precision::fp64});
  CHECK_THAT(s.reason, ContainsSubstring("by a sample"));
  CHECK(precisions(solve_shifted(n, 60, o)) == List{Precision::bf16});
}

TEST_CASE("users' systems are solved in one step, or in two, on every grid", "[rates][solve]") {
  const NoRates none;
  const auto all = Communicator::duplicate(MPI_COMM_WORLD);
  const Machine machine(MPI_COMM_WORLD, run_options());
  const std::int64_t n = device_choice().device == DeviceKind::cuda ? 45 : 150;
  for (const GridShape shape : grids(all.size()))
    for (const auto& [kind, kind_name] : gallery_names)
      for (const double fp32 : {90., 10.}) {  // FP32 much faster than FP64, or no faster
        if (field_of_kind(kind) == Field::complex) continue;
        CAPTURE(shape.nprow, shape.npcol, kind_name, fp32);
        forget_rates();
        plant(machine, {900, 100, fp32, 10});
        const GallerySystem system(kind, n, 7);
        SolveOptions o = solve_options();
        o.run.nprow = shape.nprow;
        o.run.npcol = shape.npcol;
        o.run.order = shape.order;
        o.run.nb = 8;
        const Solution s = solve(
            MPI_COMM_WORLD, Matrix::from_function(n, [&](auto i, auto j) { return system(i, j); }),
            RightHandSide::from_function(
                1, [&](auto i, auto k) { return system.right_hand_side(i, k); }),
            o);
        CHECK(s.converged);
        CHECK(s.steps.front().precision == Precision::bf16);
        CHECK(s.steps.size() <= 2);
        CHECK(gallery_residual(system, {s.x.data(), n, 1, n}) < 16);
      }
}
}  // namespace speedwell::test::rates_tests
