/// @file
/// The command line.
#pragma once

#include <lupine/options.hpp>

#include <optional>
#include <string>
#include <vector>

namespace lupine {

enum class Command { print, mxp, info };

struct Arguments {
  Command command = Command::print;
  std::string text;  ///< print: help or version
  BenchmarkOptions mxp;
  int repeat = 1;
  std::string json;  ///< empty: no JSON
  std::optional<bool> progress;
};

/// @param words what follows the program's name
/// @throws UsageError that names the option and what is allowed
Arguments parse_arguments(const std::vector<std::string>& words);

/// Words as one line that a shell would read back.
std::string quoted(const std::vector<std::string>& words);

/// A whole number of at least 1 in an environment variable's value; nothing for anything else.
std::optional<int> positive_number(const char* text);

}  // namespace lupine
