// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Measures Speedwell's own parts and compares their rates with those that the GPU allows.
#pragma once

#include "meter.hpp"

namespace speedwell {

/// Measures generation, residual and the solves of the refinement, whose limit is the bandwidth of
/// the memory, then panels.
/// @param n order of the run
void measure_own_parts(Meter& meter, std::int64_t n);

}  // namespace speedwell
