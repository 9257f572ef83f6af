// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// JSON files that are either whole or not there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/output_file.hpp"

namespace lupine {

/// Writes the document whole, as write_whole does. Numbers that are not finite become null.
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace lupine
