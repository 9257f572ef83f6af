// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The error of a device that has not enough memory.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/memory_fault.hpp"

namespace speedwell {

/// The fault "out of memory: 3 GiB <words>", such as "out of memory: 3 GiB could not be had".
MemoryFault out_of_memory(std::int64_t bytes, std::string_view words);

}  // namespace speedwell
