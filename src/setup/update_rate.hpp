// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How fast a device updates: a short measurement, to foresee a run's time.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "core/clock.hpp"
#include "device/device.hpp"

namespace lupine {

/// Flop/s of this rank's update from panels of `width` columns. Takes about `seconds`, and a few
/// hundred megabytes while it does, on a GPU gigabytes.
double update_rate(Device& device, Precision precision, std::int64_t width, double seconds,
                   const Clock& clock);

}  // namespace lupine
