// SPDX-License-Identifier: BSD-3-Clause
#include "app/submission_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <system_error>
#include <utility>

#include "app/arguments.hpp"
#include "app/output.hpp"
#include "app/recorded_command.hpp"
#include "bench/campaign.hpp"
#include "document/benchmark_report.hpp"
#include "io/file.hpp"
#include "io/hpl_dat.hpp"
#include "io/json.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"
#include "report/document_check.hpp"
#include "report/json_fields.hpp"
#include "report/recorded_run.hpp"
#include "report/same_run.hpp"
#include "report/submission.hpp"
#include "report/text_check.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* document_name = "report.json";
constexpr const char* report_name = "report.txt";
constexpr const char* dat_name = "HPL.dat";
constexpr const char* system_name = "system.json";
constexpr const char* text_name = "SUBMISSION.md";
constexpr const char* claim_name = "UNFINISHED";  ///< there while a run has the folder

[[noreturn]] void refuse_folder(const std::string& folder, const std::string& why) {
  throw UsageError(fmt::format("--submission: '{}' {}; allowed: a new or empty folder",
                               printable(folder, longest_path), why));
}

/// The files of the student cluster competitions for one benchmark: "cert-1-mxphpl.rslts".
std::string certificate(const char* benchmark, const char* kind) {
  return fmt::format("cert-1-{}.{}", benchmark, kind);
}

/// Makes the folder where it is not there yet. @throws UsageError unless it is an empty one
void require_new_or_empty(const std::string& folder) {
  std::error_code error;
  if (!fs::exists(folder, error)) {
    if (!fs::create_directory(folder, error) && error)
      refuse_folder(folder, "cannot be made: " + error.message());
    return;
  }
  if (!fs::is_directory(folder, error)) refuse_folder(folder, "is no folder");
  if (fs::exists(fs::path(folder) / claim_name, error))
    refuse_folder(folder, fmt::format("is that of a run that has not ended, or was killed: there "
                                      "is a file {} in it",
                                      claim_name));
  if (!fs::is_empty(folder, error) || error)
    refuse_folder(folder, error ? "cannot be read: " + error.message() : "is not empty");
}

ordered_json read_document(const fs::path& path) {
  const FileText file = read_file(path.string());
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("'{}': {}; allowed: a folder of speedwell bench --submission",
                                 printable(path.string(), longest_path), why));
  };
  if (!file.problem.empty()) refuse(file.problem);
  ordered_json document = parse_json(file.text, refuse);
  if (!document.is_object()) refuse("no JSON object");
  return document;
}

/// The text there; empty where there is none.
std::string text_at(const ordered_json& document, const char* name) {
  const ordered_json& found = at(document, {name});
  return found.is_string() ? found.get<std::string>() : "";
}

/// The lines of a text.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.push_back(line);
  return all;
}

/// The options of a run, each with its value on a line of its own.
std::string input_text(const std::vector<OptionText>& options) {
  std::string text;
  for (const OptionText& option : options) text += fmt::format("{}\n", quoted(words_of({option})));
  return text;
}

/// The first line in which the text is not the one that the record makes. Fields that its owner has
/// to fill in may have any value.
std::string difference(const std::string& text, const std::string& made,
                       const char* by = "the record") {
  const std::vector<std::string> found = lines_of(text);
  const std::vector<std::string> wanted = lines_of(made);
  const auto agree = [](const std::string& line, const std::string& by_record) {
    const std::size_t open = by_record.find(missing_field);
    return line == by_record ||
           (open != by_record.npos && line.starts_with(by_record.substr(0, open)));
  };
  for (std::size_t i = 0; i < std::max(found.size(), wanted.size()); ++i) {
    if (i < found.size() && i < wanted.size() && agree(found[i], wanted[i])) continue;
    const auto shown = [&](const std::vector<std::string>& lines) {
      return i < lines.size() ? fmt::format("'{}'", printable(lines[i], 120)) : "nothing";
    };
    return fmt::format("line {} is {}, but by {} it is {}", i + 1, shown(found), by, shown(wanted));
  }
  return "";
}

/// What `speedwell verify` reads in a folder, and what it has found.
class FolderCheck {
 public:
  explicit FolderCheck(fs::path folder);

  const std::vector<SubmissionCheck>& all() const { return all_; }
  /// Files that no submission has.
  std::vector<std::string> others() const;

 private:
  /// Checks a file. @param differs from its text to what differs, in words
  void check(const std::string& name,
             const std::function<std::string(const std::string&)>& differs);
  void check_reports();
  void check_certificate(const char* benchmark, const char* command, const Measured& measured,
                         const std::string& input);
  std::string wrong_command(const std::string& line, const std::string& command,
                            const std::vector<OptionText>& options) const;

  fs::path folder_;
  ordered_json document_;
  ordered_json system_;
  Measured mxp_;
  Measured hpl_;
  std::vector<SubmissionCheck> all_;
  std::set<std::string> known_{document_name, system_name};
};

BenchmarkRun best_of(const Measured& measured) {
  const std::vector<Measured> all{measured};
  return representative(all).run;
}

FolderCheck::FolderCheck(fs::path folder)
    : folder_(std::move(folder)),
      document_(read_document(folder_ / document_name)),
      system_(read_document(folder_ / system_name)),
      mxp_(recorded_runs(at(document_, {"mxp"}))),
      hpl_(recorded_runs(at(document_, {"hpl"}))),
      all_(check_document(document_, mxp_, hpl_, std::time(nullptr))) {
  all_.push_back({"the command line is that of the runs", wrong_command_line(document_)});
  check_reports();
  const std::string dat = text_of_dat(choices_of(hpl_.setup.options));
  check(dat_name, [&](const std::string& text) { return difference(text, dat); });
  check_certificate("mxphpl", "mxp", mxp_, input_text(options_alone(mxp_.setup)));
  check_certificate("hpl", "hpl", hpl_, dat);
  check(text_name, [&](const std::string& text) {
    return difference(text, submission_text(document_, system_));
  });
}

void FolderCheck::check(const std::string& name,
                        const std::function<std::string(const std::string&)>& differs) {
  known_.insert(name);
  const FileText file = read_file((folder_ / name).string());
  all_.push_back({fmt::format("{} says what {} records", name, document_name),
                  file.problem.empty() ? differs(file.text) : file.problem});
}

/// Why the line is not the command with these options, of any number of ranks and of the program
/// that has run; empty where it is.
std::string FolderCheck::wrong_command(const std::string& line, const std::string& command,
                                       const std::vector<OptionText>& options) const {
  const std::string given = text_at(document_, "command_line");
  const std::string program = given.substr(0, given.find(" bench"));
  const std::string asked = fmt::format("{} {} {}", program, command, quoted(words_of(options)));
  const std::size_t ranks = mxp_.setup.machine.hosts.size();
  if (ranks == 1 && line == asked) return "";
  constexpr std::string_view launcher = "mpirun -n ";
  std::string_view rest = line;
  if (rest.starts_with(launcher)) {
    rest.remove_prefix(launcher.size());
    const auto launched = number<std::int64_t>(take_word(rest));
    if (launched && *launched >= static_cast<std::int64_t>(ranks) && rest == " " + asked) return "";
  }
  const std::string ranked = ranks == 1 ? asked : fmt::format("mpirun -n {} {}", ranks, asked);
  // From the word that differs on: the lines are long.
  const auto parted = std::ranges::mismatch(line, ranked).in1 - line.begin();
  const std::size_t word = line.substr(0, static_cast<std::size_t>(parted)).rfind(' ') + 1;
  return fmt::format("from letter {} on it is '{}', but the record gives '{}'", word + 1,
                     printable(line.substr(word), 80),
                     printable(ranked.substr(std::min(word, ranked.size())), 80));
}

void FolderCheck::check_reports() {
  static const std::string again = "\nThe same run again:\n";
  const std::string program = fmt::format("Speedwell {} ({})", text_at(document_, "version"),
                                          text_at(document_, "revision"));
  std::string half;
  check(certificate("mxphpl", "rslts"), [&](const std::string& text) {
    half = text;
    return differing_line(text, mxp_, program, "");
  });
  const std::string summary = report_summary(best_of(mxp_), best_of(hpl_));
  check(certificate("hpl", "rslts"), [&](const std::string& text) {
    half += text;
    const std::size_t end = text.rfind(again);
    if (end == text.npos) return std::string("no 'The same run again' at its end");
    const std::string line = text.substr(end + again.size());
    if (lines_of(line).size() != 1) return std::string("more than one line of the same run again");
    // Behind these options, it repeats the runs, and may name another BLAS.
    std::string first = line.substr(0, line.find('\n'));
    const std::size_t blas = first.find(" --blas ");
    if (blas != first.npos && words_of_line(first.substr(blas + 1)).size() != 2)
      return std::string("more than a library behind '--blas'");
    first.resize(std::min(blas, first.size()));
    const std::string repeat =
        hpl_.runs.size() > 1 ? fmt::format(" --repeat {}", hpl_.runs.size()) : "";
    if (!first.ends_with(repeat)) return fmt::format("the same run again lacks '{}'", repeat);
    first.resize(first.size() - repeat.size());
    const std::string why =
        wrong_command(first, "bench", options_again_of_both(mxp_.setup, hpl_.setup));
    return why.empty() ? differing_line(text.substr(0, end), hpl_, program, summary) : why;
  });
  check(report_name,
        [&](const std::string& text) { return difference(text, half, "the two cert-*.rslts"); });
}

void FolderCheck::check_certificate(const char* benchmark, const char* command,
                                    const Measured& measured, const std::string& input) {
  check(certificate(benchmark, "input"),
        [&](const std::string& text) { return difference(text, input); });
  check(certificate(benchmark, "run"), [&](const std::string& text) {
    const std::vector<std::string> lines = lines_of(text);
    if (lines.size() != 2 || lines.front() != "#!/bin/sh")
      return fmt::format("not two lines, the first '#!/bin/sh'");
    return wrong_command(lines.back(), command, options_alone(measured.setup));
  });
  const BenchmarkRun best = best_of(measured);
  check(certificate(benchmark, "tstamps"), [&](const std::string& text) {
    return difference(text, fmt::format("{}\n{}\n", utc_text(best.begin), utc_text(best.end)));
  });
}

std::vector<std::string> FolderCheck::others() const {
  std::vector<std::string> all;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_, ignored))
    if (const std::string name = entry.path().filename().string(); !known_.contains(name))
      all.push_back(name);
  std::ranges::sort(all);
  return all;
}

/// @throws UsageError where the folder is no submission
FolderCheck checked(const std::string& folder) {
  try {
    return FolderCheck(folder);
  } catch (const ordered_json::exception& error) {  // a list where there is a number, say
    throw UsageError(
        fmt::format("'{}': {} is none of Speedwell's: {}; allowed: a folder of "
                    "speedwell bench --submission",
                    printable(folder, longest_path), document_name, printable(error.what(), 120)));
  }
}

}  // namespace

SubmissionFolder::SubmissionFolder(std::string folder) : folder_(std::move(folder)) {
  require_new_or_empty(folder_);
  const std::string claim = (fs::path(folder_) / claim_name).string();
  const int descriptor = ::open(claim.c_str(), O_WRONLY | O_CLOEXEC | O_CREAT | O_EXCL, 0666);
  if (descriptor < 0)
    refuse_folder(folder_, errno == EEXIST ? "is that of a run that has just begun"
                                           : "cannot be written: " + error_text(errno));
  ::close(descriptor);
  // Another run may have begun and ended since the folder was found empty.
  std::error_code error;
  if (std::distance(fs::directory_iterator(folder_, error), {}) == 1) return;
  fs::remove(claim, error);
  refuse_folder(folder_, "is not empty any more");
}

SubmissionFolder::~SubmissionFolder() {
  std::error_code ignored;
  fs::remove(fs::path(folder_) / claim_name, ignored);
}

void SubmissionFolder::write(const Submission& submission) const {
  const fs::path path = folder_;
  const auto write = [&](const std::string& name, const std::string& text) {
    const std::string file = (path / name).string();
    try_file(file, [&] { write_whole(file, text); });
  };
  const std::string dat = text_of_dat(choices_of(submission.hpl.run.result.chosen));
  write(document_name, json_text(submission.document));
  write(system_name, json_text(submission.system));
  write(report_name, submission.report);
  write(dat_name, dat);
  const auto write_certificate = [&](const char* benchmark, const SubmittedRun& one,
                                     const std::string& input) {
    write(certificate(benchmark, "rslts"), one.report);
    write(certificate(benchmark, "input"), input);
    write(certificate(benchmark, "run"), "#!/bin/sh\n" + one.command + "\n");
    write(certificate(benchmark, "tstamps"),
          fmt::format("{}\n{}\n", utc_text(one.run.begin), utc_text(one.run.end)));
  };
  write_certificate("mxphpl", submission.mxp, input_text(submission.mxp.options));
  write_certificate("hpl", submission.hpl, dat);
  write(text_name, submission_text(submission.document, submission.system));
}

int verify_submission(const std::string& folder) {
  const FolderCheck found = checked(folder);
  int wrong = 0;
  std::string text;
  for (const SubmissionCheck& one : found.all()) {
    wrong += one.wrong.empty() ? 0 : 1;
    text += one.wrong.empty() ? fmt::format("ok     {}\n", one.what)
                              : fmt::format("WRONG  {}: {}\n", one.what, one.wrong);
  }
  for (const std::string& name : found.others())
    text += fmt::format("-      not compared, since no submission has it: {}\n", printable(name));
  text += "Not known: that the runs were made, and on this machine. No file can prove it.\n";
  print(text + (wrong == 0
                    ? "The submission holds.\n"
                    : fmt::format("The submission does not hold: {} of its checks.\n", wrong)));
  return wrong == 0 ? 0 : 1;
}

}  // namespace speedwell
