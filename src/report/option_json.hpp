// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Options as JSON, made of the list in core/option_fields.hpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/option_fields.hpp"

namespace lupine {

/// An object with every option under its name. Values of enumerations are written by name.
template <class Options>
nlohmann::ordered_json json_of_options(const Options& options) {
  nlohmann::ordered_json all = nlohmann::ordered_json::object();
  for_each_option(options, [&](std::string_view option, const auto& value) {
    if constexpr (std::is_enum_v<std::remove_cvref_t<decltype(value)>>)
      all[std::string(option)] = name(value);
    else
      all[std::string(option)] = value;
  });
  return all;
}

}  // namespace lupine
