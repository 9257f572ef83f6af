// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One check of a machine: the time that is left, the programs that ran and how they ended, and the
/// files that record them.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "check_clock.hpp"
#include "child.hpp"
#include "monitor.hpp"

namespace speedwell::gpu_check {

struct Options {
  double budget = 560;            ///< seconds
  double limit = 1e6;             ///< seconds of one program, whatever the step allows
  std::string output;             ///< folder; empty: a new one in the current folder
  std::string device = "cuda";    ///< "cpu" only to test the check itself
  std::string programs;           ///< folder of Speedwell's programs
  std::string mpirun = "mpirun";  ///< path or name
  bool trial = false;             ///< use tiny sizes, only to see that everything runs
  std::vector<std::string> only;  ///< names of the steps to run; empty: all
  std::string command_line;
};

/// One program to run.
struct Task {
  std::string step;                  ///< such as "mpi"
  std::string name;                  ///< such as "MPI suite, 2 ranks"
  std::vector<std::string> command;  ///< the first word is a path
  std::string needs;                 ///< another program that must be there
  double limit = 60;                 ///< seconds
  double reserve = 0;                ///< seconds of the step's share that later tasks need
  double least = 3;                  ///< seconds; with less time left the task is not started
  bool may_be_cut = false;           ///< reaching `limit` is not a failure
  bool must_end = false;             ///< no time for it, or too little, is a failure
  double most_silent = 0;     ///< seconds; cut off after as many without output, it has hung;
                              ///< 0: its silence says nothing
  bool may_fail = false;      ///< any other end is not a failure: it describes the machine
  bool may_not_load = false;  ///< it needs libraries that do not come with Speedwell
  bool may_not_fit = false;   ///< a refusal for lack of memory is not a failure
  bool repeat = true;         ///< a failure is repeated at once, traced
  /// Output that shows that this machine does not allow the program, which is not a failure.
  std::vector<std::string> not_available;
  /// The result of the run for the record; null if there is none.
  std::function<nlohmann::ordered_json(const Outcome&)> result;
  /// The result of a run that passed in a few words.
  std::function<std::string(const nlohmann::ordered_json&)> words;
  /// What a run that failed has found, in a few words; empty: nothing that can be read.
  std::function<std::string(const Outcome&)> finding;
};

class Session {
 public:
  /// Makes the folder. @throws UsageError if it cannot be written to
  explicit Session(Options options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Options& options() const { return options_; }
  const std::string& folder() const { return options_.output; }
  double elapsed() const { return clock_.now() - begin_; }
  /// Tasks from now on must end when this part of the budget is used.
  void until(double part) { part_ = part; }
  /// Seconds that are left until then.
  double remaining() const { return end_of_share() - elapsed(); }
  std::string program(const std::string& name) const;
  /// The path of a temporary file for a child to write to. The destructor removes it.
  std::string scratch(const std::string& name) const { return scratch_ + "/" + name; }
  /// The path of a file in the folder.
  std::string kept(const std::string& name) const { return folder() + "/" + name; }
  /// Copies the file `from`, if a child has written it, into the folder, whole or not at all.
  void keep(const std::string& from, const std::string& name);
  /// Writes a text to a file in the folder, whole or not at all.
  void keep_text(const std::string& name, const std::string& text) { write(kept(name), text); }

  /// Records the clocks of this GPU from now on.
  void watch(const std::string& uuid);
  /// What was read in this time, seconds since 1970; null if nothing was.
  nlohmann::ordered_json clocks(double begin, double end) const;

  /// The document. Callers add what is not a step.
  nlohmann::ordered_json& document() { return document_; }
  const nlohmann::ordered_json& steps() const { return document_["steps"]; }
  /// Saves the document in this file of the folder from now on.
  void keep_in(const std::string& name);
  /// Writes the document whole, or else leaves the file as it was and reports that once.
  void save();
  /// Writes a line to standard output and to the log.
  void say(const std::string& line);

  /// Sets the function that computes the conclusions, which are added to the document after each
  /// step.
  void conclude_by(std::function<nlohmann::ordered_json(const nlohmann::ordered_json& steps)> how) {
    conclude_ = std::move(how);
  }

  /// Runs a task within the time that is left, logs all its output, records and prints the verdict.
  /// A task that failed on a GPU runs once more, one kernel after the other and with cuBLASLt's
  /// log, which is kept in the folder; "repeated" of the record says how that ended.
  /// @return the step's record: "verdict" is passed, failed, cut off, absent, not available or not
  /// run
  nlohmann::ordered_json run(const Task& task);
  /// Records a verdict that is known without a run.
  nlohmann::ordered_json note(const Task& task, const std::string& verdict,
                              const std::string& words);
  bool failed() const;

 private:
  double end_of_share() const { return part_ * options_.budget; }
  Outcome execute(const Task& task, double limit);
  void repeat(const Task& task, bool timed_out);
  nlohmann::ordered_json finish(nlohmann::ordered_json record);
  void log(std::string_view text);
  void write(const std::string& path, const std::string& text);
  void remove_scratch() const;

  Options options_;
  const Clock& clock_ = check_clock();
  double begin_;
  double part_ = 1;
  double for_repetitions_;  ///< seconds that are left for them, beside the shares of the steps
  std::string scratch_;
  int log_ = -1;
  std::string file_;
  bool unwritten_ = false;
  nlohmann::ordered_json document_;
  std::function<nlohmann::ordered_json(const nlohmann::ordered_json&)> conclude_;
  std::unique_ptr<Monitor> monitor_;
};

/// The present time in UTC, in strftime's format.
std::string utc_now(const char* format);

}  // namespace speedwell::gpu_check
