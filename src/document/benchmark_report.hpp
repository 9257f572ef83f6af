// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The report of runs of HPL-MxP or HPL as text. Lines that scripts for HPL read have HPL's layout:
/// the T/V header and row, the start and end times, the residual line, the counts, "End of Tests.".
/// The HPL-MxP block has the layout that scripts for HPL-MxP read.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bench/benchmark_runner.hpp"

namespace speedwell {

/// The part before the runs: banner, the meaning of the columns, and all chosen values. Where
/// setups differ in a value, it lists all of them, as HPL does.
/// @param setups of all configurations of one benchmark, at least one
/// @param notes further notes for the reader
std::string report_head(const std::vector<Setup>& setups, const std::vector<std::string>& notes);
/// The part about one run.
std::string report_run(const Setup& setup, const BenchmarkRun& run);

/// Number of runs by outcome.
struct RunCounts {
  int passed = 0;
  int failed = 0;
};

/// The part after the runs: how many passed and failed. @param checked whether residuals were
/// checked
std::string report_tail(const RunCounts& counts, bool checked,
                        const std::optional<Paper>& paper = std::nullopt);
/// Scores, speedup and residuals of both benchmarks, in lines of a fixed form.
std::string report_summary(const BenchmarkRun& mxp, const BenchmarkRun& hpl);

/// HPL-MxP's GFLOP/s divided by HPL's; 0 if HPL has none.
double speedup(const BenchmarkRun& mxp, const BenchmarkRun& hpl);

/// HPL's name of a variant, such as "WR11R2R16". The text of report_head() explains each place.
std::string variant(const BenchmarkOptions& options);

}  // namespace speedwell
