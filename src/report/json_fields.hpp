// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Reading the fields of a document that a report has written.
#pragma once

#include <fmt/format.h>
#include <speedwell/error.hpp>
#include <speedwell/options.hpp>

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <type_traits>

#include "core/numbers.hpp"

namespace speedwell {

/// A value of the document, by a path of names. @throws UsageError
inline const nlohmann::ordered_json& at(const nlohmann::ordered_json& document,
                                        std::initializer_list<const char*> path) {
  const nlohmann::ordered_json* here = &document;
  std::string name;
  for (const char* key : path) {
    name += (name.empty() ? "" : ".") + std::string(key);
    if (!here->is_object() || !here->contains(key))
      throw UsageError(fmt::format("the report has no '{}'", name));
    here = &(*here)[key];
  }
  return *here;
}

/// The number there; NaN where there is null, or no number.
inline double number_at(const nlohmann::ordered_json& document,
                        std::initializer_list<const char*> path) {
  const nlohmann::ordered_json& found = at(document, path);
  return found.is_number() ? found.get<double>() : unknown;
}

/// The value of an enumeration by its name. @throws UsageError
template <class Enum>
Enum name_at(const nlohmann::ordered_json& document, std::initializer_list<const char*> path) {
  const nlohmann::ordered_json& found = at(document, path);
  const auto value = found.is_string() ? parse<Enum>(found.get<std::string>()) : std::nullopt;
  if (!value)
    throw UsageError(fmt::format("'{}' is {}; allowed: {}", *(path.end() - 1), found.dump(),
                                 allowed_names<Enum>()));
  return *value;
}

}  // namespace speedwell
