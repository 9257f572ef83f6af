// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Writing JSON files, and reading those of a user.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "io/output_file.hpp"

namespace speedwell {

/// The most lists and objects in one another that a document may have. Copies and texts of a value
/// take a call within a call for each.
constexpr int deepest_json = 32;

/// The document of a text; discarded where the text is no JSON. A key that an object has twice is
/// refused: readers would not agree on its value.
/// @param refuse throws; it gets in words what the text has: too many levels, or such a key
nlohmann::ordered_json parse_json(const std::string& text,
                                  const std::function<void(const std::string&)>& refuse);

/// The document as text. Numbers that are not finite become null.
std::string json_text(const nlohmann::ordered_json& document);

/// Writes the document to the file, as write_whole() does. Numbers that are not finite become null.
/// @throws UsageError that names the path and the reason; a file that was there is then unchanged
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace speedwell
