// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell man`: the manual page in man(7)'s macros.
#pragma once

#include <string>
#include <vector>

#include "app/command_table.hpp"

namespace speedwell {

/// speedwell(1), with all commands and their options. @param table not empty
std::string man_page(const std::vector<CommandWords>& table);

}  // namespace speedwell
