// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The version of NVIDIA's driver, found without CUDA.
#pragma once

#include <string>
#include <string_view>

namespace speedwell {

/// The version, such as "580.65.06", in `proc`, the text of /proc/driver/nvidia/version. Empty if
/// there is none.
std::string driver_version(std::string_view proc);

/// The version of the driver that is loaded on this machine. Empty if none is loaded.
std::string loaded_driver();

/// Whether the driver is here: it is loaded, or its library libcuda.so.1 can be.
bool has_driver();

/// "CUDA 13.0". @param version as CUDART_VERSION: 13000
std::string cuda_version(int version);

/// Names the oldest driver that runs programs of this version of CUDA.
std::string driver_needed(int version);

}  // namespace speedwell
