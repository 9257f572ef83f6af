// SPDX-License-Identifier: BSD-3-Clause
#include "profile.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <vector>

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

/// The cells of a line of CSV whose cells may be quoted.
std::vector<std::string> cells_of(const std::string& line) {
  std::vector<std::string> cells(1);
  bool quoted = false;
  for (const char c : line) {
    if (c == '"')
      quoted = !quoted;
    else if (c == ',' && !quoted)
      cells.emplace_back();
    else
      cells.back() += c;
  }
  return cells;
}

/// Seconds of a launch; 0 if they were not measured. Numbers may have commas: "1,234.56".
double launch_seconds(const ordered_json& kernel) {
  const ordered_json& metrics = kernel["metrics"];
  const auto duration = metrics.find("Duration");
  if (duration == metrics.end()) return 0;
  std::string number = duration->value("value", "");
  number.erase(std::remove(number.begin(), number.end(), ','), number.end());
  const std::string unit = duration->value("unit", "") + " ";
  const double scale = unit.front() == 'n'   ? 1e-9
                       : unit.front() == 'u' ? 1e-6
                       : unit.front() == 'm' ? 1e-3
                                             : 1;
  return scale * std::strtod(number.c_str(), nullptr);
}

}  // namespace

ordered_json profiled_kernels(const Outcome& outcome) {
  std::istringstream lines(outcome.out);
  std::vector<std::string> head;
  ordered_json all = ordered_json::array();
  std::string last;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> cells = cells_of(line);
    if (cells[0] == "ID") head = cells;
    if (cells[0] == "ID" || cells.size() != head.size()) continue;
    const auto cell = [&](const char* name) {
      const auto at = std::find(head.begin(), head.end(), name);
      return at == head.end() ? std::string() : cells[static_cast<std::size_t>(at - head.begin())];
    };
    if (all.empty() || cells[0] != last)
      all.push_back({{"kernel", cell("Kernel Name")},
                     {"grid", cell("Grid Size")},
                     {"block", cell("Block Size")},
                     {"metrics", ordered_json::object()}});
    last = cells[0];
    if (const std::string metric = cell("Metric Name"); !metric.empty())
      all.back()["metrics"][metric] = {{"value", cell("Metric Value")},
                                       {"unit", cell("Metric Unit")}};
  }
  return all;
}

std::string words_of_profile(const ordered_json& kernels) {
  const ordered_json* longest = nullptr;
  for (const ordered_json& kernel : kernels)
    if (longest == nullptr || launch_seconds(kernel) > launch_seconds(*longest)) longest = &kernel;
  if (longest == nullptr) return "no kernel";
  return fmt::format("{} launches, the longest {:.3g} ms: {}", kernels.size(),
                     1e3 * launch_seconds(*longest), (*longest)["kernel"].get<std::string>());
}

}  // namespace speedwell::gpu_check
