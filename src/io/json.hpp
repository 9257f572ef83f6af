// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Writing JSON files, and reading those of a user.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "io/output_file.hpp"

namespace speedwell {

/// The document of a text. Refused are what is no JSON, lists and objects that are too deep in one
/// another, and a key that an object has twice: readers would not agree on its value.
/// @param refuse throws; it gets in words what is wrong
nlohmann::ordered_json parse_json(std::string_view text,
                                  const std::function<void(const std::string&)>& refuse);

/// The document as text. Numbers that are not finite become null.
std::string json_text(const nlohmann::ordered_json& document);

/// Writes the document to the file, as write_whole() does. Numbers that are not finite become null.
/// @throws UsageError that names the path and the reason; a file that was there is then unchanged
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace speedwell
