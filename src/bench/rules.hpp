// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The rules by which a run is admissible for a submission (docs/numerics.md has their source),
/// each with its verdict.
#pragma once

#include <speedwell/benchmark_result.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace speedwell {

/// What the rules ask of a run.
struct JudgedRun {
  Benchmark benchmark = Benchmark::mxp;
  MatrixKind matrix = MatrixKind::scaled_diagonal;
  Fp64Products fp64 = Fp64Products::native;
  double threshold = 16;       ///< by which the run was judged; 0 or less: not at all
  double scaled_residual = 0;  ///< NaN where there is none
  int iterations = 0;          ///< corrections of the refinement
  bool factored = true;
  bool passed = true;
};

struct RuleVerdict {
  std::string rule;    ///< "at most 50 iterations"
  std::string found;   ///< what this run has: "7"
  std::string broken;  ///< why the run breaks it, in words; empty where it keeps the rule
};

/// The rules of the run's benchmark, in a fixed order.
std::vector<RuleVerdict> rules_of(const JudgedRun& run);

/// The score in GFLOP/s by the rules: (2/3 n^3 + 3/2 n^2) / seconds / 10^9, whatever was computed.
double score(std::int64_t n, double seconds);

}  // namespace speedwell
