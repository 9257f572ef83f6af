// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The values of options as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/option_fields.hpp"

namespace speedwell {

/// The value as a user types it: a number with the fewest digits that give the same number, an
/// enumeration by its name, a bool as "on" or "off", a list with commas between its values.
std::string option_text(std::int64_t value);
std::string option_text(std::uint64_t value);
std::string option_text(double value);
std::string option_text(bool value);
inline std::string option_text(int value) {
  return option_text(std::int64_t{value});
}
inline std::string option_text(const std::string& value) {
  return value;
}
template <class Enum>
requires std::is_enum_v<Enum> std::string option_text(Enum value) {
  return std::string(name(value));
}
template <class T>
std::string option_text(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) {
    if (!text.empty()) text += ',';
    text += option_text(value);
  }
  return text;
}

/// An option's name and its value as text.
struct OptionText {
  std::string name;
  std::string value;

  bool operator==(const OptionText&) const = default;
};

/// The texts of all options, in the order of for_each_option.
template <class Options>
std::vector<OptionText> option_texts(const Options& options) {
  std::vector<OptionText> all;
  for_each_option(options, [&](std::string_view name, const auto& value) {
    all.push_back({std::string(name), option_text(value)});
  });
  return all;
}

}  // namespace speedwell
