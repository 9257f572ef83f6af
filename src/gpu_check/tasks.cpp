// SPDX-License-Identifier: BSD-3-Clause
#include "tasks.hpp"

#include <fmt/format.h>

#include <fstream>
#include <sstream>
#include <utility>

namespace speedwell::gpu_check {

using nlohmann::ordered_json;

ordered_json json_lines(const Outcome& outcome) {
  ordered_json all = ordered_json::array();
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    ordered_json value = ordered_json::parse(line, nullptr, false);
    if (value.is_object()) all.push_back(std::move(value));
  }
  return all;
}

ordered_json only_line(const Outcome& outcome) {
  ordered_json all = json_lines(outcome);
  return all.empty() ? ordered_json() : all.back();
}

ordered_json json_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  ordered_json value = ordered_json::parse(file, nullptr, false);
  return value.is_object() ? value : ordered_json();
}

std::vector<std::string> ending_stalls(std::vector<std::string> command) {
  command.insert(command.end(), {"--stall-timeout", "15"});
  return command;
}

std::string tflops(double gflops) {
  return fmt::format("{:.4g} TFLOP/s", gflops / 1e3);
}

std::string words_of_clocks(const ordered_json& clocks) {
  std::string text;
  if (!clocks.is_object()) return text;
  for (const auto& [field, unit] : {std::pair{"sm_mhz", "MHz"}, std::pair{"power_watts", "W"}})
    if (clocks[field].is_object())
      text += fmt::format(", {:.0f} {}", clocks[field]["median"].get<double>(), unit);
  return text;
}

Task suite(const std::string& step, const std::string& name, std::vector<std::string> command) {
  Task task;
  task.step = step;
  task.name = name;
  task.command = std::move(command);
  return task;
}

}  // namespace speedwell::gpu_check
