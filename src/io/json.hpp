// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Writing JSON files.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/output_file.hpp"

namespace lupine {

/// Writes the document to the file, as write_whole() does. Numbers that are not finite become null.
/// @throws UsageError that names the path and the reason; a file that was there is then unchanged
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace lupine
