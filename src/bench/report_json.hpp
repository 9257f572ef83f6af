/// @file
/// The report of HPL-MxP runs as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace lupine {

/// "lupine/1". Times, rates, norms and the verdict at the top are those of one run: the first that
/// failed, or else the fastest. "runs" has them for every run. What is not finite is null.
/// @param notes what else a reader should know
/// @pre runs is not empty
nlohmann::ordered_json json_report(const Setup& setup, const std::vector<BenchmarkRun>& runs,
                                   const std::string& command_line,
                                   const std::vector<std::string>& notes);

}  // namespace lupine
