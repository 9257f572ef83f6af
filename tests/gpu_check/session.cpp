#include "session.hpp"

#include <fmt/format.h>
#include <unistd.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <utility>

#include "io/json.hpp"

namespace lupine::gpu_check {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr double least_seconds = 3;  // in which nothing starts and ends
constexpr int bad_usage = 2;         // of all of Lupine's programs
constexpr std::size_t most_output = 4000;

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

std::string make_scratch() {
  std::error_code error;
  const fs::path folder = fs::temp_directory_path(error);
  std::string name = (error ? fs::path("/tmp") : folder) / "lupine-gpu-check.XXXXXX";
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

std::string verdict(const Task& task, const Outcome& outcome) {
  if (outcome.passed()) return "passed";
  if (outcome.timed_out) return task.may_be_cut ? "cut off" : "failed";
  const auto says = [&](const char* words) { return outcome.err.find(words) != std::string::npos; };
  if (task.may_not_fit && outcome.status == bad_usage && says("does not fit")) return "not run";
  // The launcher of an archive says the one, the system's loader the other.
  if (task.may_not_load &&
      (says(": not found: lib") || says("error while loading shared libraries")))
    return "absent";
  return "failed";
}

/// How it ended, and what it said: the whole result only once.
void record_outcome(ordered_json& record, const Task& task, const Outcome& outcome) {
  record["seconds"] = outcome.seconds;
  record["ending"] = outcome.ending();
  record["verdict"] = verdict(task, outcome);
  if (task.result) record["result"] = task.result(outcome);
  // An exit status of 0 proves no measurement.
  if (task.result && outcome.passed() && record["result"].empty()) record["verdict"] = "failed";
  if (record["verdict"] == "passed" && task.result) return;
  record["output"] = tail(outcome.out);
  record["errors"] = tail(outcome.err);
}

std::string words_of(const ordered_json& record, const Task& task, const Outcome& outcome) {
  if (record["verdict"] == "passed" && task.words) return task.words(record["result"]);
  if (record["verdict"] == "passed") return last_line(outcome.out);
  if (outcome.passed()) return "it measured nothing that can be read";
  const std::string line = last_line(outcome.err.empty() ? outcome.out : outcome.err);
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
    : options_(std::move(options)), begin_(clock_.now()), scratch_(make_scratch()) {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  document_ = {{"schema", "lupine-gpu-check/1"},
               {"date", utc_now("%Y-%m-%dT%H:%M:%SZ")},
               {"host", host.data()},
               {"command_line", options_.command_line},
               {"budget_seconds", options_.budget},
               {"trial", options_.trial},
               {"finished", false},
               {"running", nullptr},
               {"steps", ordered_json::array()}};
}

Session::~Session() {
  std::error_code ignored;
  fs::remove_all(scratch_, ignored);
}

std::string Session::program(const std::string& name) const {
  return options_.programs + "/" + name;
}

void Session::keep_in(const std::string& file) {
  check_writable(file, "--output");
  file_ = file;
  save();
}

void Session::save() {
  if (file_.empty()) return;
  document_["elapsed_seconds"] = elapsed();
  try {
    write_json(file_, document_);
  } catch (const std::exception& error) {
    if (!unwritten_) std::fprintf(stderr, "gpu-check: %s\n", error.what());
    unwritten_ = true;
    return;
  }
  unwritten_ = false;
}

ordered_json Session::run(const Task& task) {
  for (const std::string& program : {task.command[0], task.needs})
    if (!program.empty() && find_program(program).empty())
      return note(task, "absent", fmt::format("there is no {}", program));
  const double limit = std::min(task.limit, remaining() - task.reserve);
  if (limit < least_seconds) return note(task, "not run", "no time left");
  document_["running"] = task.name;
  save();
  const Outcome outcome = run_child(task.command, limit);
  ordered_json record = {{"step", task.step},
                         {"name", task.name},
                         {"command", joined(task.command)},
                         {"limit_seconds", limit}};
  record_outcome(record, task, outcome);
  record["words"] = words_of(record, task, outcome);
  return finish(std::move(record));
}

ordered_json Session::note(const Task& task, const std::string& verdict, const std::string& words) {
  return finish({{"step", task.step}, {"name", task.name}, {"verdict", verdict}, {"words", words}});
}

ordered_json Session::finish(ordered_json record) {
  const std::string words = record.value("words", "");
  fmt::print("{:6.1f} s  {:<34} {}{}{}\n", elapsed(), record["name"].get<std::string>(),
             record["verdict"].get<std::string>(), words.empty() ? "" : ": ", words);
  std::fflush(stdout);
  document_["running"] = nullptr;
  document_["steps"].push_back(record);
  save();
  return record;
}

bool Session::failed() const {
  return unwritten_ || std::any_of(steps().begin(), steps().end(), [](const ordered_json& step) {
           return step["verdict"] == "failed";
         });
}

}  // namespace lupine::gpu_check
