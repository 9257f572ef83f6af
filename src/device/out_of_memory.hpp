// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The error of a device that has not enough memory.
#pragma once

#include <lupine/error.hpp>

#include <cstdint>
#include <string_view>

namespace lupine {

/// The Fault "out of memory: 3 GiB <words>", such as "out of memory: 3 GiB could not be had".
Fault out_of_memory(std::int64_t bytes, std::string_view words);

}  // namespace lupine
