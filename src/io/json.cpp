// SPDX-License-Identifier: BSD-3-Clause
#include "io/json.hpp"

#include <nlohmann/json.hpp>

namespace speedwell {

void write_json(const std::string& path, const nlohmann::ordered_json& document) {
  using nlohmann::ordered_json;
  write_whole(path, document.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

}  // namespace speedwell
