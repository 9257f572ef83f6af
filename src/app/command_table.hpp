// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// The one table of the commands, their arguments and options. Reading the command line, the help,
/// suggestions and the man page come from it.
#pragma once

#include <string>
#include <vector>

#include "app/arguments.hpp"
#include "app/option.hpp"

namespace speedwell {

/// What Speedwell is, in one line.
inline constexpr const char* tagline =
    "Solves dense linear systems at the speed of 16 bits and to the accuracy of FP64, and runs\n"
    "the benchmarks HPL-MxP and HPL";

/// A word behind a command that is no option.
struct Positional {
  std::string name;  ///< "A"
  std::string help;
  std::string* target;
  bool required = false;  ///< missing, it is refused
};

/// A command with what may stand behind it.
struct CommandWords {
  std::string name;  ///< "mxp"; a command of predict is "predict mxp"
  Command command;
  std::string help;  ///< one line
  std::vector<Positional> positionals{};
  Options options{};
  bool computes = true;  ///< whether the environment and all exit statuses concern it

  /// The last word of the name.
  std::string word() const { return name.substr(name.rfind(' ') + 1); }
};

/// All commands, in the order of the help. What is read is stored in `arguments`.
std::vector<CommandWords> command_table(Arguments& arguments);

/// "speedwell solve A [b]"
std::string usage_of(const CommandWords& command);

/// What the help of a command says below its options: environment and exit status.
std::string footer_of(const CommandWords& command);

}  // namespace speedwell
