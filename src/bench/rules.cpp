// SPDX-License-Identifier: BSD-3-Clause
#include "bench/rules.hpp"

#include <fmt/format.h>

#include "core/matrix_traits.hpp"
#include "setup/sizing.hpp"

namespace speedwell {

namespace {

constexpr double most_admissible_residual = 16;
constexpr int most_admissible_iterations = 50;

}  // namespace

std::vector<RuleVerdict> rules_of(const JudgedRun& run) {
  std::vector<RuleVerdict> all;
  const auto add = [&](std::string rule, std::string found, bool kept, std::string broken) {
    all.push_back({std::move(rule), std::move(found), kept ? "" : std::move(broken)});
  };
  const bool checked = run.threshold > 0;
  const bool mxp = run.benchmark == Benchmark::mxp;
  if (mxp) {
    const std::string why(traits_of(run.matrix).inadmissible);
    add("A may be factored without pivoting, and is not diagonally dominant",
        std::string(name(run.matrix)), why.empty(), why);
  }
  add("FP64 operations are those of FP64 hardware", std::string(name(run.fp64)),
      run.fp64 == Fp64Products::native,
      "not a plain FP64 HPL: FP64 products are emulated by integers");
  add("the residual is checked", checked ? "yes" : "no", checked || !run.factored,
      "the residual is not checked");
  add(fmt::format("the scaled residual is less than {:g}", most_admissible_residual),
      fmt::format("{:.4g}", run.scaled_residual),
      !run.passed || !(run.scaled_residual >= most_admissible_residual),
      fmt::format("the residual is {:.3g}, allowed is less than {:g}", run.scaled_residual,
                  most_admissible_residual));
  if (mxp)
    add(fmt::format("at most {} iterations of the refinement", most_admissible_iterations),
        fmt::format("{}", run.iterations), run.iterations <= most_admissible_iterations,
        fmt::format("{} iterations, allowed are {}", run.iterations, most_admissible_iterations));
  add("the run passed", run.passed ? "yes" : "no", run.passed, "the run failed");
  return all;
}

double score(std::int64_t n, double seconds) {
  return benchmark_flops(n) / seconds / 1e9;
}

}  // namespace speedwell
