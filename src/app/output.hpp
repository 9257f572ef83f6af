// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Standard output and standard error of the command, and the output file that HPL.dat names.
/// No other code writes to them.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "io/hpl_dat.hpp"

namespace speedwell {

/// Call it first in main(). A write to a closed pipe, or beyond the allowed size of files, then
/// returns an error in place of ending the program, and files that are opened later do not get the
/// numbers of closed standard streams.
/// @throws Fault if standard output is closed
void prepare_streams();

/// Writes the text to standard output.
/// @throws Fault if not all of it could be written: a full disk, a closed pipe
void print(std::string_view text);

/// The destination of a report: standard output, or standard error, or standard output and a file,
/// which is written whole at the end.
class ReportOutput {
 public:
  /// Standard output.
  ReportOutput() = default;
  /// That of an HPL.dat.
  explicit ReportOutput(const HplDat& dat);

  /// Writes the text to the stream. @throws Fault if not all of it could be written
  void print(std::string_view text);
  /// All that was printed.
  const std::string& printed() const { return printed_; }
  /// Writes the file, if there is one, with all that was printed. Call it on the rank that prints.
  /// @throws UsageError that names the file; one that was there is then unchanged
  void finish() const;

 private:
  bool to_error_ = false;
  std::string file_;  ///< path; empty: none
  std::string printed_;
};

/// Writes one line to standard error: "speedwell: <text>". Line breaks in the text become spaces,
/// and other control characters are shown by their numbers.
void complain(std::string text);

/// How a program, or a rank of it, ends.
struct Ending {
  int status = 0;          ///< 0: done; 1: not solved; 2: bad usage; 3: a fault
  std::string complaint;   ///< empty: none
  bool everywhere = true;  ///< whether every rank ends with this status
};

/// Runs `work`, which returns the status; or the Ending that its exception means.
Ending ending_of(const std::function<int()>& work);
/// Complains, if there is something to complain of, and returns the status.
int finish(const Ending& ending);

/// Writes a line of progress to standard error, without "speedwell:".
void print_progress(const std::string& line);
bool error_is_terminal();

}  // namespace speedwell
