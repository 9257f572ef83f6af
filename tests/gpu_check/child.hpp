// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Programs started by this one, each with a limit in time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace lupine::gpu_check {

struct Outcome {
  bool started = false;    ///< false: `err` says why not
  bool timed_out = false;  ///< ended by us
  int status = -1;         ///< if it ended by itself
  int signal = 0;          ///< if a signal ended it
  double seconds = 0;
  std::string out;  ///< standard output, at most its last megabyte
  std::string err;  ///< standard error, likewise

  bool passed() const { return started && !timed_out && signal == 0 && status == 0; }
  /// "status 1", "killed by signal 11", "not through after 60 s".
  std::string ending() const;
};

/// Is given what a program says on either stream, as it comes.
using Listener = std::function<void(std::string_view piece)>;

/// Runs a program to its end, or until `seconds` are over: then it, its process group and all that
/// came from it are killed. Nothing of it is left in either case.
Outcome run_child(const std::vector<std::string>& command, double seconds,
                  const Listener& listener = {});

/// A program that runs beside the others until it is ended, and is none of theirs.
class Companion {
 public:
  /// One at a time. Ends with the thread that starts it.
  explicit Companion(const std::vector<std::string>& command);
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  ~Companion();
  /// Waits for a line of its standard output, for so many seconds. False if none came.
  bool next_line(std::string& line, double seconds);
  /// Its output is at its end.
  bool ended() const { return ended_; }

 private:
  pid_t child_ = -1;
  int output_ = -1;
  bool ended_ = false;
  std::string unread_;
};

/// From now on a signal that would end this program ends the running child too, and what a child
/// leaves behind becomes ours to end.
void guard_children();

/// The program's path, if it can be run: as it stands if there is a slash in it, else from PATH and
/// then from `folders`. Empty if it is nowhere.
std::string find_program(const std::string& name, const std::vector<std::string>& folders = {});

}  // namespace lupine::gpu_check
