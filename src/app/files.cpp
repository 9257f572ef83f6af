// SPDX-License-Identifier: BSD-3-Clause
#include "app/files.hpp"

#include <fmt/format.h>
#include <speedwell/error.hpp>

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "app/output.hpp"
#include "io/npz.hpp"
#include "io/output_file.hpp"
#include "io/text.hpp"

namespace speedwell {

namespace {

namespace fs = std::filesystem;

constexpr const char* json_name = "--json";

/// A file of a command.
struct NamedFile {
  std::string option;  ///< option or argument that gives the path: "--json", "A"
  std::string path;    ///< empty: not given
};

struct CommandFiles {
  std::vector<NamedFile> others;  ///< which must not be written
  std::vector<NamedFile> outputs;
};

/// All files of the command. A new one has its place here. Standard output and standard error may
/// be files too, whose text would be lost if they were replaced.
CommandFiles files_of(const Arguments& arguments, const ProfilePlace& place, const HplDat* dat) {
  const SolveArguments& solve = arguments.solve;
  const PredictArguments& predict = arguments.predict;
  CommandFiles files{{{"A", split_array_path(solve.a).path},
                      {"b", split_array_path(solve.b).path},
                      {"--profile", place.path},
                      {"--machine", predict.machine},
                      {"--baseline", arguments.check.baseline},
                      {"standard output", "/dev/stdout"},
                      {"standard error", "/dev/stderr"}},
                     {{"-o", solve.x},
                      {json_name, arguments.json},
                      {"--report", solve.report},
                      {"--trace", arguments.trace},
                      {"--calibrate", predict.calibrate}}};
  if (dat != nullptr) {
    files.others.push_back({"-i,--dat", dat->path});
    files.outputs.push_back({fmt::format("line 3 of {}", dat->path), dat->report_file()});
  }
  return files;
}

/// Whether writing to `output` changes the other file. False for devices and pipes, which may be
/// given twice.
bool same_file(const std::string& output, const std::string& other) {
  std::error_code error;
  for (const std::string& path : {output, other})
    if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return false;
  const fs::path one = fs::weakly_canonical(written_path(output), error);
  const fs::path two = fs::weakly_canonical(written_path(other), error);
  return (one == two && !one.empty()) || fs::equivalent(output, other, error);
}

/// Refuses standard output as the file of another option. @throws UsageError
void require_json(const std::string& option) {
  if (option == json_name) return;
  throw UsageError(fmt::format(
      "{}: '-' would be standard output, to which only {} writes; allowed: a file name, './-' too",
      option, json_name));
}

}  // namespace

void check_files(const Arguments& arguments, const ProfilePlace& place, const HplDat* dat) {
  auto [before, outputs] = files_of(arguments, place, dat);
  limit_waits_for_readers(run_options(arguments).stall_timeout);
  if (!arguments.submission.empty()) outlive_streams();
  if (arguments.json == standard_output) leave_output_to_json();
  for (const NamedFile& output : outputs) {
    if (output.path.empty()) continue;
    if (output.path == standard_output) {
      require_json(output.option);
      outlive_streams();
      continue;
    }
    check_writable(output.path, output.option);
    for (const NamedFile& other : before)
      if (!other.path.empty() && same_file(output.path, other.path))
        throw UsageError(fmt::format("{} and {} both name '{}'; allowed: a file for each of them",
                                     other.option, output.option,
                                     printable(output.path, longest_path)));
    before.push_back(output);
    outlive_streams();
  }
}

}  // namespace speedwell
