// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of runs of HPL-MxP or HPL as text. The lines that scripts for HPL read have HPL's
/// layout: the T/V header and row, the start and end times, the residual line, the counts, "End of
/// Tests.". The HPL-MxP block has the layout that scripts for HPL-MxP read.
#pragma once

#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace lupine {

/// Banner and everything that was chosen, for before the runs. Where several setups differ, it
/// lists their values as HPL does.
/// @param setups of all configurations of one benchmark, at least one
/// @param notes what else a reader should know
std::string report_head(const std::vector<Setup>& setups, const std::vector<std::string>& notes);
/// One run.
std::string report_run(const Setup& setup, const BenchmarkRun& run);

/// Runs by how they ended.
struct RunCounts {
  int passed = 0;
  int failed = 0;
};

/// Counts, and the end. @param checked whether residuals were
std::string report_tail(const RunCounts& counts, bool checked);
/// Both benchmarks in lines that do not change their form: scores, speedup, residuals.
std::string report_summary(const BenchmarkRun& mxp, const BenchmarkRun& hpl);

/// HPL-MxP's score over HPL's; 0 where HPL has none.
double speedup(const BenchmarkRun& mxp, const BenchmarkRun& hpl);

/// "WR11R2R16": see report_head for what stands for what.
std::string variant(const BenchmarkOptions& options);

}  // namespace lupine
