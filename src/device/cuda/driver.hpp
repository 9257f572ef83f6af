// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// NVIDIA's driver, as this machine tells of it without CUDA.
#pragma once

#include <string>
#include <string_view>

namespace lupine {

/// The version in what /proc/driver/nvidia/version says, such as "580.65.06"; empty: none.
std::string driver_version(std::string_view proc);

/// Of the driver that is loaded here; empty: none is.
std::string loaded_driver();

}  // namespace lupine
