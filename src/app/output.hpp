// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Standard output and standard error of the command, and the output file that HPL.dat names.
/// No other code writes to them.
#pragma once

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "io/hpl_dat.hpp"

namespace speedwell {

/// Call it first in main(). A write to a closed pipe, or beyond the allowed size of files, then
/// returns an error in place of ending the program, and files that are opened later do not get the
/// numbers of closed standard streams.
/// @throws Fault if standard output is closed
void prepare_streams();

/// Writes the text to standard output, or, after leave_output_to_json(), to standard error.
/// @throws Fault if not all of it could be written: a full disk, a closed pipe; after
///         outlive_streams() it complains once instead, and lost_status() tells
void print(std::string_view text);

/// From now on, a stream that cannot be written ends no run: for a command that also writes files,
/// which keep what it has found.
void outlive_streams();

/// Runs `write`, which writes the file of this path. Where it fails, complains, once for each path,
/// and the command goes on, since it may have others to write; lost_status() tells.
void try_file(const std::string& path, const std::function<void()>& write);

/// The file name by which --json means standard output.
inline constexpr std::string_view standard_output = "-";

/// From now on, what print() gets goes to standard error: standard output has a document alone.
void leave_output_to_json();

/// try_file() of a JSON document, by write_json(), or to standard output.
void try_json(const std::string& path, const std::function<nlohmann::ordered_json()>& document);

/// Whether a document at this path may be written again and again: not so a pipe, a device and
/// standard output.
bool is_rewritten(const std::string& path);

/// The exit status for what could not be written: 0 where nothing is lost. A file whose last
/// try_file() has succeeded is not.
int lost_status();

/// The destination of a report: standard output, or standard error, or standard output and a file.
class ReportOutput {
 public:
  /// Standard output.
  ReportOutput() = default;
  /// That of an HPL.dat.
  explicit ReportOutput(const HplDat& dat);

  /// Writes the text to the file, after what it has, and then to the stream. A file that is no
  /// regular one is written by finish(). @throws as speedwell::print() does
  void print(std::string_view text);
  /// All that was printed.
  const std::string& printed() const { return printed_; }
  /// Writes a pipe or device, if the file is one. Call it on the rank that prints.
  void finish() const;

 private:
  void save() const;

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
