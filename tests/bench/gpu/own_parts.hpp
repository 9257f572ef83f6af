// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What Lupine's own parts reach of what the GPU allows.
#pragma once

#include "meter.hpp"

namespace lupine {

/// Generation, residual and the refinement's solves beside the memory's bandwidth; then panels.
/// @param n order of the run
void measure_own_parts(Meter& meter, std::int64_t n);

}  // namespace lupine
