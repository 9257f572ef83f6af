// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// Starts other programs, each with a limit in time.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace speedwell::gpu_check {

struct Outcome {
  bool started = false;    ///< whether it was started; if not, `err` says why
  bool timed_out = false;  ///< whether it was killed at its limit
  int status = -1;         ///< its exit status, if it ended by itself
  int signal = 0;          ///< the signal that ended it, or 0
  double seconds = 0;
  double silent = 0;  ///< seconds from its last output to its end
  std::string out;    ///< standard output, at most its last megabyte
  std::string err;    ///< standard error, likewise

  bool passed() const { return started && !timed_out && signal == 0 && status == 0; }
  /// How it ended, such as "status 1", "killed by signal 11" or "not through after 60 s".
  std::string ending() const;
};

/// A function that gets the output of a program on both streams, piece by piece as it arrives.
using Listener = std::function<void(std::string_view piece)>;

/// Runs a program to its end, or for `seconds` at most. Afterwards all its processes are killed:
/// those of its process group and their descendants.
Outcome run_child(const std::vector<std::string>& command, double seconds,
                  const Listener& listener = {});

/// A program that runs beside the other programs until the destructor, and is not killed with them.
class Companion {
 public:
  /// Starts the program. There may be one Companion at a time. The program ends with the thread
  /// that started it.
  explicit Companion(const std::vector<std::string>& command);
  Companion(const Companion&) = delete;
  Companion& operator=(const Companion&) = delete;
  ~Companion();
  /// Waits up to `seconds` for a line of its standard output. Returns false if there was none.
  bool next_line(std::string& line, double seconds);
  /// Whether its output has ended.
  bool ended() const { return ended_; }

 private:
  pid_t child_ = -1;
  int output_ = -1;
  bool ended_ = false;
  std::string unread_;
};

/// From now on a signal that ends this program ends the running child too, and this program becomes
/// the parent of processes that a child leaves behind, so that it can end them.
void guard_children();

/// The path of a program that can be run: `name` itself if it has a slash, else the first found in
/// PATH and then in `folders`. Empty if there is none.
std::string find_program(const std::string& name, const std::vector<std::string>& folders = {});

}  // namespace speedwell::gpu_check
