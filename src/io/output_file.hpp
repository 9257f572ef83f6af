// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Files that are written whole or not at all.
#pragma once

#include <speedwell/error.hpp>

#include <string>
#include <string_view>

namespace speedwell {

/// The path of the file that is written by the name `path`: that to which symbolic links lead.
std::string written_path(const std::string& path);

/// A pipe whose reader reads nothing for this time cannot be written. 0, as at the start: no limit.
void limit_waits_for_readers(double seconds);

/// Whether an OutputFile replaces what is at `path`, and so may be written again and again: not so
/// a pipe or a device.
bool is_replaced(const std::string& path);

/// Checks that `path` can be written. A file that is there already is not touched. A pipe is opened
/// for the OutputFile that writes to it; one that nobody reads, a second later, cannot be written.
/// @param option the option that gives the path, for the message: "--json"
/// @throws UsageError that names the option, the path and the reason
void check_writable(const std::string& path, const std::string& option);

/// Writes a file piece by piece into a temporary file in the same folder, which replaces the file
/// at `path` at the end: readers see the old content or all of the new one. If `path` is a symbolic
/// link, the file to which it links is replaced. A path that is no regular file (a pipe, a
/// terminal) is written directly. After the first error, which is kept, nothing more is written.
class OutputFile {
 public:
  explicit OutputFile(const std::string& path);
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;
  /// Without a successful finish(), removes the temporary file; the file at `path` is unchanged.
  ~OutputFile();

  void write(std::string_view piece);
  /// Brings the content to the disk, and renames the temporary file to the file at `path`. Returns
  /// "", or the reason of the first error.
  std::string finish();

 private:
  void note_error(int error);  ///< the first is kept; 0: none

  std::string path_;
  std::string half_;  ///< path of the temporary file; empty if `path_` is written directly
  int descriptor_;
  int error_ = 0;
};

/// The error of a file that could not be written, in one line. @param why of OutputFile::finish()
UsageError unwritten(const std::string& path, const std::string& why);

/// Writes the text to the file at `path` through an OutputFile.
/// @throws UsageError that names the path and the reason; a file that was there is then unchanged
void write_whole(const std::string& path, std::string_view text);

}  // namespace speedwell
