// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell info`.
#pragma once

#include <functional>
#include <string>

#include "setup/machine.hpp"

namespace speedwell {

/// `speedwell info`: versions, and the processor, memory and devices of this node, for rank 0. Each
/// line is printed as soon as it is known, those that take long last.
/// @param json file of the same as a document; empty: none; standard_output: the document alone
/// @param ranks of the job
/// @param share the cores of this rank; asked for behind the lines that need no time
void run_info(const std::string& json, int ranks, const std::function<CoreShare()>& share);

}  // namespace speedwell
