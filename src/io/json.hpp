// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Writing JSON files, and the limit of those that are read.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/output_file.hpp"

namespace speedwell {

/// The most lists and objects in one another that a document may have. Copies and texts of a value
/// take a call within a call for each.
constexpr int deepest_json = 32;

/// The document as text. Numbers that are not finite become null.
std::string json_text(const nlohmann::ordered_json& document);

/// Writes the document to the file, as write_whole() does. Numbers that are not finite become null.
/// @throws UsageError that names the path and the reason; a file that was there is then unchanged
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace speedwell
