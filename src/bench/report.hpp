/// @file
/// The report of HPL-MxP runs as text. The lines that scripts for HPL read have HPL's layout:
/// the T/V header and row, the start and end times, the residual line, the counts, "End of Tests.".
/// The HPL-MxP block has the layout that scripts for HPL-MxP read.
#pragma once

#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace lupine {

/// Banner and everything that was chosen, for before the runs.
/// @param notes what else a reader should know
std::string report_head(const Setup& setup, const std::vector<std::string>& notes);
/// One run.
std::string report_run(const Setup& setup, const BenchmarkRun& run);
/// Counts, and the end.
std::string report_tail(int passed, int failed);

/// "WR11R1R1": see report_head for what stands for what.
std::string variant(const BenchmarkOptions& options);

}  // namespace lupine
