// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "io/output_file.hpp"
#include "repetition.hpp"

namespace speedwell::gpu_check {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr int bad_usage = 2;  // exit status of all of Speedwell's programs
constexpr std::size_t most_output = 4000;
constexpr double part_for_repetitions = 0.15;  // of the budget, for those of all failures
constexpr double repetition_of_a_hang = 30;    // seconds

std::string tail(const std::string& text) {
  return text.size() <= most_output ? text : "..." + text.substr(text.size() - most_output);
}

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of("\n\r ");
  if (end == std::string::npos) return "";
  const std::size_t before = text.find_last_of('\n', end);
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  return text.substr(begin, std::min<std::size_t>(end + 1 - begin, 200));
}

/// The folder that was asked for, or else a new one in the current folder.
std::string make_folder(const std::string& asked) {
  std::error_code error;
  const std::string name = asked.empty() ? "gpu-check-" + utc_now("%Y-%m-%d-%H%M%S") : asked;
  std::string folder = name;
  for (int i = 2; asked.empty() && fs::exists(folder, error); ++i)
    folder = fmt::format("{}-{}", name, i);
  fs::create_directories(folder, error);
  if (error || !fs::is_directory(folder, error))
    throw UsageError(fmt::format("--output: cannot make the folder '{}' ({})", folder,
                                 error ? error.message() : "it is a file"));
  return folder;
}

int open_log(const std::string& path) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0)
    throw UsageError(fmt::format("--output: cannot write '{}' ({})", path, std::strerror(errno)));
  return file;
}

std::string make_scratch() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  std::string name = (error ? fs::path("/tmp") : folder) / "speedwell-gpu-check.XXXXXX";
  if (mkdtemp(name.data()) == nullptr)
    throw Fault(fmt::format("cannot make a folder {}; set TMPDIR", name));
  return name;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    if (!text.empty()) text += ' ';
    text += word;
  }
  return text;
}

bool hung(const Task& task, const Outcome& outcome) {
  return outcome.timed_out && task.most_silent > 0 && outcome.silent >= task.most_silent;
}

/// Whether a task that was killed is a failure, however little time it had.
bool must_have_ended(const Task& task, const Outcome& outcome) {
  return task.must_end || hung(task, outcome);
}

/// @param limit the time that the task had, which may be less than its own limit
std::string verdict(const Task& task, const Outcome& outcome, double limit) {
  const auto says = [&](const std::string& words) {
    return outcome.err.find(words) != std::string::npos ||
           outcome.out.find(words) != std::string::npos;
  };
  // A program that is not allowed may still end with status 0.
  if (std::any_of(task.not_available.begin(), task.not_available.end(), says))
    return "not available";
  if (outcome.passed()) return "passed";
  if (task.may_fail) return "not available";
  if (outcome.timed_out)
    return !must_have_ended(task, outcome) && (task.may_be_cut || limit < task.limit) ? "cut off"
                                                                                      : "failed";
  if (task.may_not_fit && outcome.status == bad_usage && says("does not fit")) return "not run";
  // The first message comes from the launcher of an archive, the second from the system's loader.
  if (task.may_not_load &&
      (says(": not found: lib") || says("error while loading shared libraries")))
    return "absent";
  return "failed";
}

/// Records how a task ended, with its result, or with the end of its output where there is no
/// result.
void record_outcome(ordered_json& record, const Task& task, const Outcome& outcome) {
  record["seconds"] = outcome.seconds;
  record["ending"] = outcome.ending();
  record["verdict"] = verdict(task, outcome, record["limit_seconds"].get<double>());
  if (task.result) record["result"] = task.result(outcome);
  // An exit status of 0 without a result is a failure.
  if (task.result && outcome.passed() && record["result"].empty()) record["verdict"] = "failed";
  if (record["verdict"] == "passed" && task.result) return;
  record["output"] = tail(outcome.out);
  record["errors"] = tail(outcome.err);
}

std::string words_of(const ordered_json& record, const Task& task, const Outcome& outcome) {
  if (record["verdict"] == "passed" && task.words) return task.words(record["result"]);
  if (record["verdict"] == "passed") return last_line(outcome.out);
  if (outcome.passed()) return "it measured nothing that can be read";
  const std::string found = task.finding ? task.finding(outcome) : "";
  const std::string line =
      found.empty() ? last_line(outcome.err.empty() ? outcome.out : outcome.err) : found;
  if (hung(task, outcome))
    return fmt::format("{}, the last {:.0f} s without output: {}", outcome.ending(), outcome.silent,
                       line);
  return line.empty() ? outcome.ending() : outcome.ending() + ": " + line;
}

std::string ending_of_repetition(const Outcome& outcome) {
  const std::string line = last_line(outcome.err.empty() ? outcome.out : outcome.err);
  if (outcome.passed()) return "passed, with one kernel after the other";
  return line.empty() ? outcome.ending() : outcome.ending() + ": " + line;
}

}  // namespace

std::string utc_now(const char* format) {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 64> text{};
  std::strftime(text.data(), text.size(), format, &parts);
  return text.data();
}

Session::Session(Options options)
    : options_(std::move(options)),
      begin_(clock_.now()),
      for_repetitions_(part_for_repetitions * options_.budget),
      scratch_(make_scratch()) {
  try {
    options_.output = make_folder(options_.output);
    log_ = open_log(kept("log.txt"));
  } catch (...) {
    remove_scratch();
    throw;
  }
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  document_ = {{"schema", "speedwell-gpu-check/2"},
               {"date", utc_now("%Y-%m-%dT%H:%M:%SZ")},
               {"host", host.data()},
               {"command_line", options_.command_line},
               {"budget_seconds", options_.budget},
               {"trial", options_.trial},
               {"only", options_.only},
               {"finished", false},
               {"running", nullptr},
               {"clocks", nullptr},
               {"steps", ordered_json::array()}};
}

Session::~Session() {
  monitor_.reset();
  if (log_ >= 0) close(log_);
  remove_scratch();
}

void Session::remove_scratch() const {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

std::string Session::program(const std::string& name) const {
  return options_.programs + "/" + name;
}

void Session::watch(const std::string& uuid) {
  std::unique_ptr<SampleSource> source = open_samples(uuid);
  if (source) monitor_ = std::make_unique<Monitor>(std::move(source), kept("clocks.csv"));
}

ordered_json Session::clocks(double begin, double end) const {
  return monitor_ ? monitor_->between(begin, end) : nullptr;
}

void Session::keep_in(const std::string& name) {
  file_ = kept(name);
  save();
}

void Session::save() {
  if (file_.empty()) return;
  document_["elapsed_seconds"] = elapsed();
  if (monitor_)
    document_["clocks"] = {{"source", monitor_->source()},
                           {"seconds_between", sample_seconds},
                           {"samples", monitor_->samples()}};
  write(file_, document_.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n");
}

void Session::keep(const std::string& from, const std::string& name) {
  std::ifstream file(from, std::ios::binary);
  if (!file) return;
  std::ostringstream text;
  text << file.rdbuf();
  write(kept(name), text.str());
}

/// Where a file can no longer be written, the check goes on without it.
void Session::write(const std::string& path, const std::string& text) {
  try {
    write_whole(path, text);
  } catch (const std::exception& error) {
    if (!unwritten_) std::fprintf(stderr, "gpu-check: %s\n", error.what());
    unwritten_ = true;
  }
}

void Session::log(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(log_, text.data(), text.size());
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

void Session::say(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
  log(line + "\n");
}

Outcome Session::execute(const Task& task, double limit) {
  log(fmt::format("\n===== {:.1f} s: {}\n$ {}\n", elapsed(), task.name, joined(task.command)));
  bool at_line_start = true;
  Outcome outcome = run_child(task.command, limit, [&](std::string_view piece) {
    log(piece);
    at_line_start = piece.back() == '\n';
  });
  log(fmt::format("{}===== {} after {:.1f} s\n", at_line_start ? "" : "\n", outcome.ending(),
                  outcome.seconds));
  return outcome;
}

ordered_json Session::run(const Task& task) {
  for (const std::string& program : {task.command[0], task.needs})
    if (!program.empty() && find_program(program).empty())
      return note(task, "absent", fmt::format("there is no {}", program));
  document_["running"] = task.name;
  save();
  const double begun = elapsed();
  const double left = end_of_share() - begun - task.reserve;
  const double limit = std::min({task.limit, left, options_.limit});
  if (limit < std::min(task.least, options_.limit))
    return note(task, task.must_end ? "failed" : "not run", "no time left");
  ordered_json record = {{"step", task.step},
                         {"name", task.name},
                         {"command", joined(task.command)},
                         {"begun_seconds", begun},
                         {"limit_seconds", limit}};
  Task allowed = task;
  allowed.limit = std::min(task.limit, options_.limit);
  const double begin = wall_time();
  const Outcome outcome = execute(allowed, limit);
  record_outcome(record, allowed, outcome);
  record["clocks"] = clocks(begin, wall_time());
  record["words"] = words_of(record, task, outcome);
  const bool again = record["verdict"] == "failed" && task.repeat && options_.device == "cuda";
  record = finish(std::move(record));
  if (again) repeat(allowed, outcome.timed_out);
  return record;
}

/// Has time of its own, within the budget: what explains a failure must not wait for a step's
/// share.
void Session::repeat(const Task& task, bool timed_out) {
  const double limit = std::min({task.limit, for_repetitions_, options_.budget - elapsed(),
                                 timed_out ? repetition_of_a_hang : options_.limit});
  Task again = task;
  again.name += ", repeated";
  ordered_json record = nullptr;
  std::string words = "no time left";
  if (limit >= std::min(task.least, options_.limit)) {
    document_["running"] = again.name;
    save();
    const std::string folder = scratch(fmt::format("repeated-{}", steps().size()));
    again.command = traced(task.command, folder);
    const Outcome outcome = execute(again, limit);
    for_repetitions_ -= outcome.seconds;
    const std::string file = fmt::format("cublaslt-{}.log", steps().size());
    const std::string calls = logged_calls(folder);
    if (!calls.empty()) write(kept(file), calls);
    words = fmt::format("{}; {}", ending_of_repetition(outcome),
                        calls.empty() ? "cuBLASLt logged nothing" : file);
    record = {{"command", joined(again.command)},
              {"seconds", outcome.seconds},
              {"ending", outcome.ending()},
              {"cublaslt_log", calls.empty() ? ordered_json() : ordered_json(file)},
              {"output", tail(outcome.out)},
              {"errors", tail(outcome.err)}};
  }
  say(fmt::format("{:6.1f} s  {:<34} {}", elapsed(), again.name, words));
  document_["running"] = nullptr;
  document_["steps"].back()["repeated"] = std::move(record);
  save();
}

ordered_json Session::note(const Task& task, const std::string& verdict, const std::string& words) {
  return finish({{"step", task.step}, {"name", task.name}, {"verdict", verdict}, {"words", words}});
}

ordered_json Session::finish(ordered_json record) {
  const std::string words = record.value("words", "");
  say(fmt::format("{:6.1f} s  {:<34} {}{}{}", elapsed(), record["name"].get<std::string>(),
                  record["verdict"].get<std::string>(), words.empty() ? "" : ": ", words));
  document_["running"] = nullptr;
  document_["steps"].push_back(record);
  if (conclude_) document_.update(conclude_(steps()));
  save();
  return record;
}

bool Session::failed() const {
  return unwritten_ || std::any_of(steps().begin(), steps().end(), [](const ordered_json& step) {
           return step["verdict"] == "failed";
         });
}

}  // namespace speedwell::gpu_check
