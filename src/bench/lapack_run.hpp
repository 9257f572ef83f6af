// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The benchmark's system, solved by LAPACK.
#pragma once

#include <lupine/options.hpp>

#include "bench/comparison.hpp"
#include "bench/lapack.hpp"
#include "comm/communicator.hpp"
#include "core/clock.hpp"

namespace lupine {

/// Why lapack_run cannot be, where so many bytes are free on one node; empty if it can.
std::string lapack_obstacle(LapackDriver driver, std::int64_t n, double free);

/// Generates A and b as the benchmark does, in FP64, solves on this rank alone and verifies as the
/// benchmark does.
/// @param alone a communicator of this rank
/// @param options n, the matrix and its parameters, seed, threshold
/// @throws Fault where memory is short
Turn lapack_run(LapackDriver driver, const Communicator& alone, const BenchmarkOptions& options,
                int threads, const Clock& clock);

/// What a residual that is not below the threshold is called in a Turn's failure; empty if it is
/// below, or if the threshold is not above 0 and so nothing is checked.
std::string residual_failure(double scaled_residual, double threshold);

}  // namespace lupine
