// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files that are either whole or not there.
#pragma once

#include <string>
#include <string_view>

namespace lupine {

/// Whether `path` can be written, found out without touching a file that is there already.
/// @param option what the caller calls the path, for the message: "--json"
/// @throws UsageError that names the option, the path and the reason
void check_writable(const std::string& path, const std::string& option);

/// A file written piece by piece beside the one that `path` names (a link stays a link), which it
/// replaces at the end: readers see the old file or the new one. What is no regular file (a pipe, a
/// terminal) is written directly. The first error is kept, and nothing is written after it.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Unless finished, nothing is left of it, and an old file is as it was.
  ~OutputFile();

  void write(std::string_view piece);
  /// Brings it to the disk and to its name. Returns "", or the reason of the first error.
  std::string finish();

 private:
  void note_error();

  std::string path_;
  std::string half_;  ///< the temporary file; empty for what is written directly
  int descriptor_;
  int error_ = 0;
};

/// Writes the text as an OutputFile.
/// @throws Fault that names the path and the reason; a file that was there is then unchanged
void write_whole(const std::string& path, std::string_view text);

}  // namespace lupine
