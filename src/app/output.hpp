// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Standard output and standard error of the command, and the output file that HPL.dat names.
/// No other code writes to them.
#pragma once

#include <string>
#include <string_view>

namespace lupine {

/// Call it first in main(). A write to a closed pipe then returns an error in place of ending the
/// program, and files that are opened later do not get the numbers of closed standard streams.
/// @throws Fault if standard output is closed
void prepare_streams();

/// Writes the text to standard output.
/// @throws Fault if not all of it could be written: a full disk, a closed pipe
void print(std::string_view text);

/// The destination of a report: standard output, or standard error, or standard output and a file.
class ReportOutput {
 public:
  /// Standard output.
  ReportOutput() = default;
  /// @param device HPL.dat's "device out": 6 standard output; 7 standard error; any other value
  ///        standard output and the file
  ReportOutput(int device, std::string file);
  ReportOutput(const ReportOutput&) = delete;
  ReportOutput& operator=(const ReportOutput&) = delete;
  ~ReportOutput();

  /// Opens the file, if there is one, and empties it. Call it before print(), on the rank that
  /// prints.
  /// @throws UsageError if the file cannot be written
  void open();
  /// Writes the text. @throws Fault if not all of it could be written
  void print(std::string_view text) const;

 private:
  int device_ = 6;
  std::string file_;
  int descriptor_ = -1;
};

/// Writes one line to standard error: "lupine: <text>". Line breaks in the text become spaces.
void complain(std::string text);

/// Writes a line of progress to standard error, without "lupine:".
void print_progress(const std::string& line);
bool error_is_terminal();

}  // namespace lupine
