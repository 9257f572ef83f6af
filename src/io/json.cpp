// SPDX-License-Identifier: BSD-3-Clause
#include "io/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "io/text.hpp"

namespace speedwell {

using nlohmann::ordered_json;

namespace {
// Copies and texts of a value take a call within a call for each.
constexpr int deepest_json = 32;
}  // namespace

ordered_json parse_json(std::string_view text,
                        const std::function<void(const std::string&)>& refuse) {
  using Event = ordered_json::parse_event_t;
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  const auto check = [&](int depth, Event event, const ordered_json& value) {
    if (depth > deepest_json)
      refuse(fmt::format("its lists and objects are more than {} deep", deepest_json));
    if (event == Event::object_start) keys.emplace_back();
    if (event == Event::object_end) keys.pop_back();
    if (event != Event::key) return true;
    if (const auto key = value.get<std::string>(); !keys.back().insert(key).second)
      refuse(fmt::format("key '{}' given more than once; allowed: once", printable(key)));
    return true;
  };
  try {
    return ordered_json::parse(text.begin(), text.end(), check);
  } catch (const ordered_json::parse_error& error) {
    // The last character that was read may be the line's end.
    const std::string_view before = text.substr(0, error.byte - 1);
    refuse(fmt::format("no JSON in line {}", 1 + std::count(before.begin(), before.end(), '\n')));
    throw;
  } catch (const ordered_json::out_of_range&) {
    refuse("a number beyond the range of FP64");
    throw;
  }
}

std::string json_text(const ordered_json& document) {
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void write_json(const std::string& path, const ordered_json& document) {
  write_whole(path, json_text(document));
}

}  // namespace speedwell
