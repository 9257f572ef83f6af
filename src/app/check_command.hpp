// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell check`.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "comm/communicator.hpp"

namespace speedwell {

/// Checks the nodes, and reports. Collective. @return the exit status: 1 if a place stands out
int run_check(const Communicator& world, const Arguments& arguments,
              const std::string& command_line, std::vector<std::string> notes);

}  // namespace speedwell
