// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// A settings file: the options of a command as JSON, to give them again.
#pragma once

#include <string>
#include <vector>

#include "core/option_text.hpp"

namespace speedwell {

struct Settings {
  std::string command;              ///< "mxp"
  std::vector<OptionText> options;  ///< names as the command's without dashes, with '_' for '-'
};

/// The JSON text: {"schema": "speedwell-settings/1", "command": "mxp", "options": {"n": 8192,
/// ...}}. A value is a number where its text is one, several are a list.
std::string settings_text(const Settings& settings);

/// Reads such a text; `path` is its name in messages.
/// @throws UsageError, one line, if it is damaged, of another version, or has an unknown key, which
///         it names
Settings parse_settings(const std::string& content, const std::string& path);

/// The words of the command line with these settings: {"mxp", "--n", "300", ...}.
std::vector<std::string> words_of(const Settings& settings);

/// The text of the file. @throws UsageError if there is none or it cannot be read
std::string read_settings(const std::string& path);

}  // namespace speedwell
