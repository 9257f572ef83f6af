// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the figures of a recorded run can be, by each other and by all clocks that the record has.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// A figure, and the least and the most that it can be. NaN is neither.
struct Bound {
  std::string figure;
  double value = 0;
  double least = 0;
  double most = 0;

  bool holds() const { return value >= least && value <= most; }
};

/// Bounds of one kind.
struct BoundList {
  const char* what;
  std::vector<Bound> bounds;
};

/// All bounds of a run. @param setup of recorded_runs() @param record the run in the document
std::vector<BoundList> bounds_of(const Setup& setup, const BenchmarkRun& run,
                                 const nlohmann::ordered_json& record);

}  // namespace speedwell
