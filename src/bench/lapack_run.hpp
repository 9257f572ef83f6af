// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmark's system, solved by LAPACK.
#pragma once

#include <lupine/options.hpp>

#include "bench/comparison.hpp"
#include "comm/communicator.hpp"
#include "core/clock.hpp"
#include "device/cpu/lapack.hpp"

namespace lupine {

/// Why lapack_run() cannot run where `free` bytes of memory are free; empty if it can.
std::string lapack_obstacle(LapackDriver driver, std::int64_t n, double free);

/// Generates A and b of the benchmark in FP64, solves with LAPACK on this rank alone, and computes
/// the benchmark's scaled residual. The turn's time is that of the solver.
/// @param alone a communicator of this rank alone
/// @param options of which n, the matrix with its parameters, seed and threshold are used
/// @throws Fault where memory is short
Turn lapack_run(LapackDriver driver, const Communicator& alone, const BenchmarkOptions& options,
                int threads, const Clock& clock);

/// The text of Turn::failure for a scaled residual that is not below the threshold; empty if it is
/// below, or if the threshold is 0 or less, which means no check.
std::string residual_failure(double scaled_residual, double threshold);

}  // namespace lupine
