// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The clock of the check.
#pragma once

#include "core/clock.hpp"

namespace speedwell::gpu_check {

/// The machine's clock, or, where SPEEDWELL_GPU_CHECK_CLOCK names a file, a clock whose seconds are
/// the size of that file in bytes. So tests of the check do not depend on the speed of the machine.
const Clock& check_clock();

}  // namespace speedwell::gpu_check
