// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Standard output and error of the command, and the file that HPL.dat names. Nothing else writes
/// there.
#pragma once

#include <string>
#include <string_view>

namespace lupine {

/// To be called first: makes a write to a closed pipe an error instead of the end, and keeps files
/// and sockets that are opened later out of the places of standard input, output and error.
/// @throws Fault if standard output is closed
void prepare_streams();

/// @throws Fault if not all of it arrived: a full disk, a closed pipe
void print(std::string_view text);

/// Where a report goes: to standard output; or to standard error; or to standard output and a file.
class ReportOutput {
 public:
  /// Standard output.
  ReportOutput() = default;
  /// @param device HPL.dat's: 6 standard output, 7 standard error, else the file too
  ReportOutput(int device, std::string file);
  ReportOutput(const ReportOutput&) = delete;
  ReportOutput& operator=(const ReportOutput&) = delete;
  ~ReportOutput();

  /// To be called before anything is printed, on the rank that prints.
  /// @throws UsageError if the file cannot be written; what it held is gone otherwise
  void open();
  /// All of it is in its place when this returns. @throws Fault otherwise
  void print(std::string_view text) const;

 private:
  int device_ = 6;
  std::string file_;
  int descriptor_ = -1;
};

/// One line on standard error: "lupine: ...". Line breaks in it become spaces.
void complain(std::string text);

/// One line on standard error as it is, for progress.
void print_progress(const std::string& line);
bool error_is_terminal();

}  // namespace lupine
