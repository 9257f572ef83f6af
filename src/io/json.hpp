/// @file
/// JSON files that are either whole or not there.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace lupine {

/// Whether `path` can be written, found out without touching a file that is there already.
/// @param option what the caller calls the path, for the message: "--json"
/// @throws UsageError that names the option, the path and the reason
void check_writable(const std::string& path, const std::string& option);

/// Writes the text to a temporary file beside `path`, then renames it: readers see the old file or
/// the new one. What is no regular file (a pipe, a terminal) is written directly.
/// @throws Fault that names the path and the reason; a file that was there is then unchanged
void write_whole(const std::string& path, std::string_view text);

/// The same for a document. Numbers that are not finite become null.
void write_json(const std::string& path, const nlohmann::ordered_json& document);

}  // namespace lupine
