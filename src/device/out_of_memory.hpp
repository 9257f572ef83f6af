// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// How devices say that there is no memory.
#pragma once

#include <lupine/error.hpp>

#include <cstdint>
#include <string_view>

namespace lupine {

/// "out of memory: 3 GiB " and what is the matter with them, such as "could not be had".
Fault out_of_memory(std::int64_t bytes, std::string_view words);

}  // namespace lupine
