// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// What the tasks have in common: how their reports are read.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace lupine::gpu_check {

/// Every line that is a JSON object; others are somebody else's words.
nlohmann::ordered_json json_lines(const Outcome& outcome);
/// The last of them; null if there is none.
nlohmann::ordered_json only_line(const Outcome& outcome);
/// Null if it is not there or no JSON object.
nlohmann::ordered_json json_file(const std::string& path);

/// "650.1 TFLOP/s".
std::string tflops(double gflops);
/// ", 1755 MHz, 640 W", medians; empty if nothing was read.
std::string words_of_clocks(const nlohmann::ordered_json& clocks);

/// Tests; what they say of themselves is their last line.
Task suite(const std::string& step, const std::string& name, std::vector<std::string> command);

}  // namespace lupine::gpu_check
