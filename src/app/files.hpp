// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files that a command is told to write.
#pragma once

#include <string>
#include <vector>

namespace lupine {

/// A file by the words that name it: "--json", "A".
struct NamedFile {
  std::string option;
  std::string path;  ///< empty: none
};

/// Before anything runs, on rank 0: whether each output can be written, to a file of its own.
/// @param inputs what will be read, and must not be written to
/// @throws UsageError
void check_outputs(const std::vector<NamedFile>& outputs,
                   const std::vector<NamedFile>& inputs = {});

}  // namespace lupine
