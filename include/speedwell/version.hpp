// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The version of the Speedwell library.
#pragma once

#include <speedwell/export.hpp>

#include <string_view>

namespace speedwell {

/// @return The version of the library that the program runs with, such as "0.1.0".
SPEEDWELL_API std::string_view version();
/// @return The git revision that the library was built from, as `git describe` prints it:
///         "1a2b3c4d5e6f", with "-dirty" where the tree had changes; "unknown" outside of git.
SPEEDWELL_API std::string_view revision();

}  // namespace speedwell
