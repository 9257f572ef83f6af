// SPDX-License-Identifier: BSD-3-Clause
#include "io/json.hpp"

#include <nlohmann/json.hpp>

namespace speedwell {

std::string json_text(const nlohmann::ordered_json& document) {
  using nlohmann::ordered_json;
  return document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

void write_json(const std::string& path, const nlohmann::ordered_json& document) {
  write_whole(path, json_text(document));
}

}  // namespace speedwell
