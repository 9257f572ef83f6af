/// @file
/// Programs started by this one, each with a limit in time.
#pragma once

#include <string>
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

/// Runs a program to its end, or until `seconds` are over: then it, its process group and all that
/// came from it are killed. Nothing of it is left in either case.
Outcome run_child(const std::vector<std::string>& command, double seconds);

/// From now on a signal that would end this program ends the running child too, and what a child
/// leaves behind becomes ours to end.
void guard_children();

/// The program's path, if it can be run: as it stands if there is a slash in it, else from PATH and
/// then from `folders`. Empty if it is nowhere.
std::string find_program(const std::string& name, const std::vector<std::string>& folders = {});

}  // namespace lupine::gpu_check
