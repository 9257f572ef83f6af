// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Which Lupine this is.
#pragma once

#include <lupine/export.hpp>

#include <string_view>

namespace lupine {

/// "0.1.0".
LUPINE_API std::string_view version();
/// The git revision that the library was built from, as `git describe` says it: "1a2b3c4d5e6f",
/// with "-dirty" where the tree had changes; "unknown" outside of git.
LUPINE_API std::string_view revision();

}  // namespace lupine
