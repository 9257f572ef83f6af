// SPDX-License-Identifier: BSD-3-Clause
#include "app/submission_folder.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <system_error>

#include "app/output.hpp"
#include "bench/campaign.hpp"
#include "io/file.hpp"
#include "io/hpl_dat.hpp"
#include "io/json.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"
#include "report/submission.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;
using nlohmann::ordered_json;

constexpr const char* document_name = "report.json";
constexpr const char* report_name = "report.txt";
constexpr const char* dat_name = "HPL.dat";
constexpr const char* system_name = "system.json";
constexpr const char* text_name = "SUBMISSION.md";

[[noreturn]] void refuse_folder(const std::string& folder, const std::string& why) {
  throw UsageError(fmt::format("--submission: '{}' {}; allowed: a new or empty folder",
                               printable(folder, longest_path), why));
}

/// The files of the student cluster competitions for one benchmark: "cert-1-mxphpl.rslts".
std::string certificate(const char* benchmark, const char* kind) {
  return fmt::format("cert-1-{}.{}", benchmark, kind);
}

void write_certificate(const fs::path& folder, const char* benchmark, const SubmittedRun& one,
                       const std::string& input) {
  const auto write = [&](const char* kind, const std::string& text) {
    write_whole((folder / certificate(benchmark, kind)).string(), text);
  };
  write("rslts", one.report);
  write("input", input);
  write("run", "#!/bin/sh\n" + one.command + "\n");
  write("tstamps", fmt::format("{}\n{}\n", utc_text(one.run.begin), utc_text(one.run.end)));
}

ordered_json read_document(const fs::path& path) {
  const FileText file = read_file(path.string());
  const auto refuse = [&](const std::string& why) {
    throw UsageError(fmt::format("'{}': {}; allowed: a folder of speedwell bench --submission",
                                 printable(path.string(), longest_path), why));
  };
  if (!file.problem.empty()) refuse(file.problem);
  const auto check_depth = [&](int depth, ordered_json::parse_event_t, const ordered_json&) {
    if (depth > deepest_json) refuse(fmt::format("more than {} deep", deepest_json));
    return true;
  };
  ordered_json document = ordered_json::parse(file.text, check_depth, false);
  if (!document.is_object()) refuse("no JSON object");
  return document;
}

/// Whether HPL.dat asks for the run of the document.
std::string wrong_dat(const std::string& text, const ordered_json& hpl) {
  try {
    const HplDat dat = parse_hpl_dat(text, dat_name);
    const ordered_json asked{{"n", dat.n.front()},
                             {"nb", dat.nb.front()},
                             {"nprow", dat.p.front()},
                             {"npcol", dat.q.front()}};
    for (const auto& [key, value] : asked.items())
      if (!hpl.contains(key) || hpl[key] != value)
        return fmt::format("it asks for {} = {}", key, value.dump());
    return "";
  } catch (const UsageError& error) {
    return error.what();
  }
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != text.npos;
}

/// What SUBMISSION.md lacks of the text that the documents make, but for the fields that its owner
/// has to fill in; empty if it is whole.
std::string missing_line(const fs::path& folder, const ordered_json& document) {
  const FileText text = read_file((folder / text_name).string());
  if (!text.problem.empty()) return text.problem;
  std::istringstream made(submission_text(document, read_document(folder / system_name)));
  for (std::string line; std::getline(made, line);)
    if (!holds(line, missing_field) && !holds(text.text, line + "\n"))
      return fmt::format("no line '{}' in it", line);
  return "";
}

std::vector<SubmissionCheck> check_folder(const fs::path& folder) {
  const ordered_json document = read_document(folder / document_name);
  std::vector<SubmissionCheck> all = check_document(document);
  const auto has_score = [&](const char* which, const std::string& name) {
    const FileText text = read_file((folder / name).string());
    const std::string line = score_in_report(document[which]);
    all.push_back({fmt::format("{}: {} has the score of {}", which, name, document_name),
                   !text.problem.empty()    ? text.problem
                   : holds(text.text, line) ? ""
                                            : fmt::format("no '{}' in it", line)});
  };
  for (const char* which : {"mxp", "hpl"}) has_score(which, report_name);
  has_score("mxp", certificate("mxphpl", "rslts"));
  has_score("hpl", certificate("hpl", "rslts"));
  all.push_back({fmt::format("{} says what {} and {} say", text_name, document_name, system_name),
                 missing_line(folder, document)});
  const FileText dat = read_file((folder / dat_name).string());
  all.push_back({"hpl: HPL.dat is that of the run",
                 dat.problem.empty() ? wrong_dat(dat.text, document["hpl"]) : dat.problem});
  for (const char* benchmark : {"mxphpl", "hpl"})
    for (const char* kind : {"input", "run", "tstamps"}) {
      const std::string name = certificate(benchmark, kind);
      all.push_back({name + " is there", read_file((folder / name).string()).problem});
    }
  return all;
}

}  // namespace

void check_submission_folder(const std::string& folder) {
  std::error_code error;
  if (fs::exists(folder, error)) {
    if (!fs::is_directory(folder, error)) refuse_folder(folder, "is no folder");
    if (!fs::is_empty(folder, error) || error)
      refuse_folder(folder, error ? "cannot be read: " + error.message() : "is not empty");
  } else if (!fs::create_directory(folder, error)) {
    refuse_folder(folder, "cannot be made: " + error.message());
  }
  check_writable((fs::path(folder) / document_name).string(), "--submission");
}

void write_submission(const std::string& folder, const Submission& submission) {
  const fs::path path = folder;
  const std::string dat = text_of_dat(choices_of(submission.hpl.run.result.chosen));
  write_json((path / document_name).string(), submission.document);
  write_json((path / system_name).string(), submission.system);
  write_whole((path / report_name).string(), submission.report);
  write_whole((path / dat_name).string(), dat);
  write_certificate(path, "mxphpl", submission.mxp, settings_text(submission.mxp.settings));
  write_certificate(path, "hpl", submission.hpl, dat);
  write_whole((path / text_name).string(), submission_text(submission.document, submission.system));
}

int verify_submission(const std::string& folder) {
  int wrong = 0;
  std::string text;
  for (const SubmissionCheck& one : check_folder(folder)) {
    wrong += one.wrong.empty() ? 0 : 1;
    text += one.wrong.empty() ? fmt::format("ok     {}\n", one.what)
                              : fmt::format("WRONG  {}: {}\n", one.what, one.wrong);
  }
  print(text + (wrong == 0
                    ? "The submission holds.\n"
                    : fmt::format("The submission does not hold: {} of its checks.\n", wrong)));
  return wrong == 0 ? 0 : 1;
}

}  // namespace speedwell
