// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Options and results as JSON, made of the lists in core/option_fields.hpp and
/// document/result_fields.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/option_fields.hpp"
#include "core/option_range.hpp"
#include "document/report_parts.hpp"
#include "document/result_fields.hpp"

namespace speedwell {

/// An enumeration's value by its name, a result as an object of its fields; null for a number that
/// is not finite, and for an empty text.
template <class Value>
nlohmann::ordered_json json_of(const Value& value) {
  if constexpr (HasFields<Value>) {
    auto all = nlohmann::ordered_json::object();
    for_each_field(value, [&](const char* field, const auto& one) { all[field] = json_of(one); });
    return all;
  } else if constexpr (std::is_enum_v<Value>) {
    return name(value);
  } else if constexpr (std::is_same_v<Value, double>) {
    return number_or_null(value);
  } else if constexpr (std::is_same_v<Value, std::string>) {
    return text_or_null(value);
  } else if constexpr (requires { value.has_value(); }) {
    return value ? json_of(*value) : nullptr;
  } else if constexpr (requires { value.begin(); }) {
    auto all = nlohmann::ordered_json::array();
    for (const auto& one : value) all.push_back(json_of(one));
    return all;
  } else {
    return value;
  }
}

/// An object with every option under its name.
template <class Options>
nlohmann::ordered_json json_of_options(const Options& options) {
  auto all = nlohmann::ordered_json::object();
  for_each_option(options, [&](std::string_view option, const auto& value) {
    all[std::string(option)] = json_of(value);
  });
  return all;
}

/// json_of_options() with null for every number and list that was left to Speedwell.
template <class Options>
nlohmann::ordered_json json_of_asked(const Options& options) {
  auto all = json_of_options(options);
  for_each_option(options, [&](std::string_view option, const auto& value) {
    if (is_left_open(option, value)) all[std::string(option)] = nullptr;
  });
  return all;
}

}  // namespace speedwell
