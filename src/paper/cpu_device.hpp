// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The cores of a simulated rank: each operation takes the rank's time, and computes nothing but
/// pivots.
#pragma once

#include <memory>
#include <string>

#include "device/device.hpp"
#include "paper/world.hpp"

namespace speedwell::paper {

/// The CPU device of the calling rank.
std::unique_ptr<Device> make_cpu_device(const RunContext& run);

}  // namespace speedwell::paper
