// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell info`.
#pragma once

#include <string>

#include "setup/machine.hpp"

namespace speedwell {

/// The text of `speedwell info`: versions, and the processor, memory and devices of this node.
/// @param uncorrected description of BLAS before better kernels were chosen; empty if none were
/// @param size number of ranks of the job
/// @param share the cores of this rank
std::string info_text(const std::string& uncorrected, int size, const CoreShare& share);

}  // namespace speedwell
