// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Whether the command line in a report of both benchmarks is the one of its runs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace speedwell {

/// The words of a line of quoted(); none where a shell could read anything else in it.
std::vector<std::string> words_of_line(const std::string& line);

/// Reads the recorded command line as the command reads its own, and compares the options with
/// those that the record says were asked for, and the order, the blocks and the grid with those of
/// the runs.
/// @param document of json_of_both()
/// @return what is wrong, in words; empty: nothing
std::string wrong_command_line(const nlohmann::ordered_json& document);

}  // namespace speedwell
