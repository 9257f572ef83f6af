// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell completion`: scripts by which shells complete commands, options and values.
#pragma once

#include <string>
#include <vector>

#include "app/command_table.hpp"

namespace speedwell {

/// The script for the shell. @param shell "bash" or "zsh"
std::string completion(const std::vector<CommandWords>& table, const std::string& shell);

}  // namespace speedwell
