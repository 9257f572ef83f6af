/// @file
/// One check of a machine: time left, what was run and how it ended, the file that keeps it.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "check_clock.hpp"
#include "child.hpp"

namespace lupine::gpu_check {

struct Options {
  double budget = 480;            ///< seconds
  std::string output;             ///< empty: by GPU and date, in `folder`
  std::string folder = ".";       ///< of the result, if it is not named
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
  double reserve = 0;                ///< seconds that have to be left for what comes later
  bool may_be_cut = false;           ///< to run into the limit is no failure
  bool may_not_load = false;         ///< its libraries are no part of Lupine's
  bool may_not_fit = false;          ///< to be refused for want of memory is no failure
  /// What the run said, for the record; null if nothing.
  std::function<nlohmann::ordered_json(const Outcome&)> result;
  /// What a run that ended well says of itself in a few words.
  std::function<std::string(const nlohmann::ordered_json&)> words;
};

class Session {
 public:
  explicit Session(Options options);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  const Options& options() const { return options_; }
  double elapsed() const { return clock_.now() - begin_; }
  double remaining() const { return options_.budget - elapsed(); }
  std::string program(const std::string& name) const;
  /// A file for a child to write to.
  std::string scratch(const std::string& name) const { return scratch_ + "/" + name; }

  /// The document; what is not a step is added by whoever knows it.
  nlohmann::ordered_json& document() { return document_; }
  const nlohmann::ordered_json& steps() const { return document_["steps"]; }
  /// From now on the document is kept in this file. @throws UsageError if it cannot be written
  void keep_in(const std::string& file);
  /// Writes the document whole, or leaves the file as it was and says so once.
  void save();

  /// Runs it within the time that is left, records and prints the verdict.
  /// @return the step's record: "verdict" is passed, failed, cut off, absent or not run
  nlohmann::ordered_json run(const Task& task);
  /// Something that is known without a run.
  nlohmann::ordered_json note(const Task& task, const std::string& verdict,
                              const std::string& words);
  bool failed() const;

 private:
  nlohmann::ordered_json finish(nlohmann::ordered_json record);

  Options options_;
  const Clock& clock_ = check_clock();
  double begin_;
  std::string scratch_;
  std::string file_;
  bool unwritten_ = false;
  nlohmann::ordered_json document_;
};

/// UTC, as strftime writes it.
std::string utc_now(const char* format);

}  // namespace lupine::gpu_check
