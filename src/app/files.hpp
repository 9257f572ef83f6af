// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Checks of the files that a command is to write.
#pragma once

#include <string>
#include <vector>

namespace lupine {

/// A file on the command line.
struct NamedFile {
  std::string option;  ///< option or argument that gives the path: "--json", "A"
  std::string path;    ///< empty: not given
};

/// Checks that each output can be written, and that no two outputs, and no output and input, are
/// the same file. For rank 0, before anything runs.
/// @throws UsageError if that is not so
void check_outputs(const std::vector<NamedFile>& outputs,
                   const std::vector<NamedFile>& inputs = {});

}  // namespace lupine
