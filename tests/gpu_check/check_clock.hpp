// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The time that the check goes by.
#pragma once

#include "core/clock.hpp"

namespace lupine::gpu_check {

/// The machine's clock. Where LUPINE_GPU_CHECK_CLOCK names a file, that one's size in bytes are the
/// seconds: to try the check itself, however slow or busy a machine is.
const Clock& check_clock();

}  // namespace lupine::gpu_check
