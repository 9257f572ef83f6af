// SPDX-License-Identifier: BSD-3-Clause
#include "io/settings.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/file.hpp"
#include "io/json.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

using nlohmann::ordered_json;

constexpr const char* settings_schema = "speedwell-settings/1";

ordered_json json_of_text(const std::string& text) {
  if (text.find(',') != text.npos) {
    ordered_json all = ordered_json::array();
    for (std::size_t begin = 0; begin <= text.size();) {
      const std::size_t end = std::min(text.find(',', begin), text.size());
      all.push_back(json_of_text(text.substr(begin, end - begin)));
      begin = end + 1;
    }
    return all;
  }
  if (const auto whole = number<std::int64_t>(text)) return *whole;
  if (const auto whole = number<std::uint64_t>(text)) return *whole;
  if (const auto real = number<double>(text); real && *real - *real == 0) return *real;
  return text;
}

/// The value as a user types it; nothing where it can be none.
std::optional<std::string> text_of_json(const ordered_json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return option_text(value.get<bool>());
  if (value.is_number_unsigned()) return option_text(value.get<std::uint64_t>());
  if (value.is_number_integer()) return option_text(value.get<std::int64_t>());
  if (value.is_number()) return option_text(value.get<double>());
  if (!value.is_array() || value.empty()) return std::nullopt;
  std::string all;
  for (const ordered_json& one : value) {
    const auto text = one.is_array() ? std::nullopt : text_of_json(one);
    if (!text) return std::nullopt;
    all += (all.empty() ? "" : ",") + *text;
  }
  return all;
}

}  // namespace

std::vector<std::string> words_of(const Settings& settings) {
  std::vector<std::string> words{settings.command};
  for (const OptionText& option : settings.options) {
    std::string name = "--" + option.name;
    std::replace(name.begin(), name.end(), '_', '-');
    words.insert(words.end(), {std::move(name), option.value});
  }
  return words;
}

std::string settings_text(const Settings& settings) {
  ordered_json options = ordered_json::object();
  for (const OptionText& option : settings.options)
    options[option.name] = json_of_text(option.value);
  const ordered_json document{
      {"schema", settings_schema}, {"command", settings.command}, {"options", std::move(options)}};
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

Settings parse_settings(const std::string& content, const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    throw UsageError(
        fmt::format("cannot use the settings '{}': {}", printable(path, longest_path), why));
  };
  const ordered_json document = parse_json(content, refuse);
  if (!document.is_object()) refuse("it is no JSON object");
  for (const char* key : {"schema", "command"})
    if (!document.contains(key) || !document[key].is_string())
      refuse(fmt::format("'{}' is missing, or no text", key));
  if (const auto found = document["schema"].get<std::string>(); found != settings_schema)
    refuse(fmt::format("schema is '{}'; allowed: '{}'", printable(found), settings_schema));
  for (const auto& [key, value] : document.items())
    if (key != "schema" && key != "command" && key != "options")
      refuse(fmt::format("unknown key '{}'; allowed: schema, command, options", printable(key)));
  if (!document.contains("options") || !document["options"].is_object())
    refuse("'options' is missing, or no object");
  Settings settings{document["command"].get<std::string>(), {}};
  for (const auto& [key, value] : document["options"].items()) {
    const auto text = text_of_json(value);
    if (!text)
      refuse(fmt::format("'{}' is {}; allowed: a number, a text, true, false, or a list of them",
                         printable(key), printable(value.dump())));
    settings.options.push_back({key, *text});
  }
  return settings;
}

std::string read_settings(const std::string& path) {
  const FileText file = read_file(path);
  if (!file.problem.empty())
    throw UsageError(
        fmt::format("cannot read the settings '{}' ({}); allowed: a file of "
                    "--save-settings",
                    printable(path, longest_path), file.problem));
  return file.text;
}

}  // namespace speedwell
