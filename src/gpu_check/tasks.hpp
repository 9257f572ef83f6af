// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Helpers of all tasks: they read the reports of programs.
#pragma once

#include <string>
#include <vector>

#include "session.hpp"

namespace speedwell::gpu_check {

/// Every line of standard output that is a JSON object; other lines come from libraries.
nlohmann::ordered_json json_lines(const Outcome& outcome);
/// The last such line; null if there is none.
nlohmann::ordered_json only_line(const Outcome& outcome);
/// The JSON object in a file; null if there is none.
nlohmann::ordered_json json_file(const std::string& path);

/// The command of a program of Speedwell that ends a stalled run itself, with a line that names the
/// cause, before the check kills it.
std::vector<std::string> ending_stalls(std::vector<std::string> command);

/// A rate as text, such as "650.1 TFLOP/s".
std::string tflops(double gflops);
/// The medians as text, such as ", 1755 MHz, 640 W"; empty if there are no samples.
std::string words_of_clocks(const nlohmann::ordered_json& clocks);

/// Seconds without output after which a program has hung that prints a line for each of its parts.
constexpr double silence_of_a_hang = 15;

/// The task of a test program, whose last line is its result.
Task suite(const std::string& step, const std::string& name, std::vector<std::string> command);

}  // namespace speedwell::gpu_check
