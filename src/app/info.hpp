// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell info`.
#pragma once

#include <string>

#include "setup/machine.hpp"

namespace speedwell {

/// The text of `speedwell info`: versions, and the processor, memory and devices of this node.
/// @param size number of ranks of the job
/// @param share the cores of this rank
std::string info_text(int size, const CoreShare& share);

}  // namespace speedwell
