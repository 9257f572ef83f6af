/// @file
/// Files, read whole.
#pragma once

#include <string>

namespace lupine {

/// Appends all of the file to `text`. Returns 0, or errno of what failed: ENOENT where there is
/// none.
int read_file(const std::string& path, std::string& text);

}  // namespace lupine
