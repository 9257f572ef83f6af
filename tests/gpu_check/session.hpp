// SPDX-License-Identifier: BSD-3-Clause
/// @file
/// One check of a machine: time left, what was run and how it ended, the files that keep it.
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

namespace lupine::gpu_check {

struct Options {
  double budget = 560;            ///< seconds
  double limit = 1e6;             ///< seconds of one program, whatever the step allows
  std::string output;             ///< folder; empty: a new one in the current folder
  std::string device = "cuda";    ///< cpu: to try the check itself
  std::string programs;           ///< folder of Lupine's programs
  std::string mpirun = "mpirun";  ///< path or name
  bool trial = false;             ///< tiny sizes, to see that everything runs
  std::string command_line;
};

/// One program to run.
struct Task {
  std::string step;                  ///< "mpi"
  std::string name;                  ///< "MPI suite, 2 ranks"
  std::vector<std::string> command;  ///< the first word: a path
  std::string needs;                 ///< a program besides the first word that has to be there
  double limit = 60;                 ///< seconds
  double reserve = 0;                ///< seconds of the step's share that are left to what follows
  double least = 3;                  ///< with less time left it is not worth its start, seconds
  bool may_be_cut = false;           ///< to run into `limit` is no failure
  bool may_fail = false;             ///< says how the machine is; that it cannot is no failure
  bool may_not_load = false;         ///< its libraries are no part of Lupine's
  bool may_not_fit = false;          ///< to be refused for want of memory is no failure
  /// Words of a program that this machine does not allow, which is no failure of Lupine's.
  std::vector<std::string> not_available;
  /// What the run said, for the record; null if nothing.
  std::function<nlohmann::ordered_json(const Outcome&)> result;
  /// What a run that ended well says of itself in a few words.
  std::function<std::string(const nlohmann::ordered_json&)> words;
};

class Session {
 public:
  /// Makes the folder. @throws UsageError if it cannot be written
  explicit Session(Options options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Options& options() const { return options_; }
  const std::string& folder() const { return options_.output; }
  double elapsed() const { return clock_.now() - begin_; }
  /// What comes from now on has to be done at this part of the budget.
  void until(double part) { part_ = part; }
  /// Seconds until then.
  double remaining() const { return end_of_share() - elapsed(); }
  std::string program(const std::string& name) const;
  /// A file for a child to write to, which is gone in the end.
  std::string scratch(const std::string& name) const { return scratch_ + "/" + name; }
  /// One of the folder.
  std::string kept(const std::string& name) const { return folder() + "/" + name; }
  /// Brings what a child has written to `from`, if it has, whole into the folder.
  void keep(const std::string& from, const std::string& name);

  /// Clocks of this GPU, beside everything from now on.
  void watch(const std::string& uuid);
  /// What was read in this time, seconds since 1970; null if nothing was.
  nlohmann::ordered_json clocks(double begin, double end) const;

  /// The document; what is not a step is added by whoever knows it.
  nlohmann::ordered_json& document() { return document_; }
  const nlohmann::ordered_json& steps() const { return document_["steps"]; }
  /// From now on the document is kept in this file of the folder.
  void keep_in(const std::string& name);
  /// Writes the document whole, or leaves the file as it was and says so once.
  void save();
  /// To standard output and to the log.
  void say(const std::string& line);

  /// Adds what follows from the steps to the document, after each of them.
  void conclude_by(std::function<nlohmann::ordered_json(const nlohmann::ordered_json& steps)> how) {
    conclude_ = std::move(how);
  }

  /// Runs it within the time that is left, logs all that it says, records and prints the verdict.
  /// @return the step's record: "verdict" is passed, failed, cut off, absent, not available or not
  /// run
  nlohmann::ordered_json run(const Task& task);
  /// Something that is known without a run.
  nlohmann::ordered_json note(const Task& task, const std::string& verdict,
                              const std::string& words);
  bool failed() const;

 private:
  double end_of_share() const { return part_ * options_.budget; }
  Outcome execute(const Task& task, double limit);
  nlohmann::ordered_json finish(nlohmann::ordered_json record);
  void log(std::string_view text);
  void write(const std::string& path, const std::string& text);
  void remove_scratch() const;

  Options options_;
  const Clock& clock_ = check_clock();
  double begin_;
  double part_ = 1;
  std::string scratch_;
  int log_ = -1;
  std::string file_;
  bool unwritten_ = false;
  nlohmann::ordered_json document_;
  std::function<nlohmann::ordered_json(const nlohmann::ordered_json&)> conclude_;
  std::unique_ptr<Monitor> monitor_;
};

/// UTC, as strftime writes it.
std::string utc_now(const char* format);

}  // namespace lupine::gpu_check
