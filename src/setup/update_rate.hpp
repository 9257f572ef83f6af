// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A short measurement of a device's update, by which the time of a run is estimated.
#pragma once

#include <lupine/options.hpp>

#include <cstdint>

#include "device/device.hpp"

namespace lupine {

/// Flop/s of this rank's update from panels of `width` columns. The measurement takes about
/// `seconds`, and allocates a few hundred megabytes on a CPU, gigabytes on a GPU.
double update_rate(Device& device, Precision precision, std::int64_t width, double seconds);

}  // namespace lupine
