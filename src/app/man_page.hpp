// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// `speedwell man`: manual pages in man(7)'s macros.
#pragma once

#include <string>
#include <vector>

#include "app/command_table.hpp"

namespace speedwell {

/// The word by which a page is asked for: "predict-mxp" for "predict mxp".
std::string page_of(const CommandWords& command);

/// speedwell(1), an overview, where the page is empty; else speedwell-PAGE(1).
/// @pre page is empty, or the page_of() a command of the table
std::string man_page(const std::vector<CommandWords>& table, const std::string& page);

}  // namespace speedwell
