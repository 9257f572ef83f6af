// SPDX-License-Identifier: BSD-3-Clause
#include "suites.hpp"

#include <fmt/format.h>

#include <cstdlib>

#include "tasks.hpp"

namespace lupine::gpu_check {

using nlohmann::ordered_json;

namespace {

/// Catch2 then prints a line at the end of each test, so that silence shows a hang.
void show_durations(Task& task) {
  task.command.insert(task.command.end(), {"--durations", "yes"});
  task.most_silent = silence_of_a_hang;
}

}  // namespace

void Suites::device() {
  Task task = suite("device", "device conformance",
                    {session_.program("lupine_device_tests"), "--device", o_.device});
  show_durations(task);
  task.limit = 90;
  // Its time on a GPU is not known. The summary says if it was cut off.
  task.may_be_cut = true;
  session_.run(task);
}

std::vector<std::string> Suites::ranks(int count, const std::string& program) {
  if (mpirun_.empty()) {
    const std::string found = find_program(o_.mpirun);
    mpirun_ = {found.empty() ? o_.mpirun : found};
    const Outcome version = run_child({mpirun_[0], "--version"}, 10);
    const bool open_mpi = version.out.find("Open MPI") != std::string::npos ||
                          version.out.find("OpenRTE") != std::string::npos;
    if (open_mpi) mpirun_.insert(mpirun_.end(), {"--oversubscribe", "--bind-to", "none"});
  }
  std::vector<std::string> command = mpirun_;
  command.insert(command.end(),
                 {"-n", std::to_string(count), session_.program(program), "--device", o_.device});
  // Several ranks share one GPU, which NCCL does not allow.
  if (count > 1) command.insert(command.end(), {"--comm", "staged"});
  return command;
}

void Suites::on_ranks(const std::string& step, const std::string& what, const std::string& program,
                      int count, const std::string& filter) {
  Task task;
  task.step = step;
  task.name = fmt::format("{}, {} rank{}", what, count, count == 1 ? "" : "s");
  task.command = ranks(count, program);
  if (!filter.empty()) task.command.push_back(filter);
  show_durations(task);
  task.needs = session_.program(program);
  task.limit = 90;
  session_.run(task);
}

void Suites::mpi() {
  for (const int count : {1, 2, 4})
    on_ranks("mpi", "MPI suite", "lupine_mpi_tests", count, "~[solve]");
}

void Suites::accuracy() {
  for (const int count : {1, 4})
    on_ranks("accuracy", "accuracy against LAPACK", "lupine_accuracy_tests", count);
}

void Suites::systems() {
  for (const int count : {1, 4})
    on_ranks("systems", "users' systems", "lupine_mpi_tests", count, "[solve]");
}

/// Catch2's filter of the small device tests, or, if none has that tag, of the tests of Lupine's
/// own kernels.
std::string Suites::filter_of_small_tests() {
  const std::string program = session_.program("lupine_device_tests");
  if (find_program(program).empty()) return "";
  const std::string tags = run_child({program, "--list-tags"}, 20).out;
  std::string filter;
  for (const char* tag : {"[small]", "[cast]", "[fp64]", "[generate]", "[factor]", "[solve]"}) {
    if (tags.find(tag) == std::string::npos) continue;
    if (!filter.empty()) filter += ',';
    filter += tag;
    if (filter == "[small]") break;
  }
  return filter;
}

bool Suites::sanitize(const std::string& program, const std::string& tool,
                      const std::vector<std::string>& small) {
  Task task;
  task.step = "sanitizer";
  task.name = fmt::format("{}: {}", tool, small[0].substr(small[0].rfind('/') + 1));
  // Lupine makes CUDA calls that may fail by design (queries) and checks each, so these errors of
  // the API are not reported.
  task.command = {
      program, "--tool",           tool, "--target-processes", "all", "--report-api-errors",
      "no",    "--error-exitcode", "9"};
  task.command.insert(task.command.end(), small.begin(), small.end());
  task.needs = small[0];
  task.limit = 60;
  task.not_available = {"Device not supported", "device is not supported", "Initialization failed",
                        "InitializeInjection", "ERR_NVGPUCTRPERM"};
  // The tool makes a program hundreds of times slower, so reaching the limit is not a failure.
  task.may_be_cut = true;
  const ordered_json record = session_.run(task);
  if (record["verdict"] != "cut off") return record["verdict"] != "not available";
  const std::string said = record.value("output", "") + record.value("errors", "");
  for (const char* finding : {"========= Invalid", "========= Error", "========= Race"})
    if (said.find(finding) != std::string::npos) {
      task.name += ", before it was cut off";
      session_.note(task, "failed", "it had reported an error: see \"output\"");
      break;
    }
  return true;
}

void Suites::sanitizers() {
  const auto folder_in = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::string("/nonexistent") : std::string(value);
  };
  const std::string program = find_program(
      "compute-sanitizer", {folder_in("CUDA_HOME") + "/bin", folder_in("CUDA_PATH") + "/bin",
                            "/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"});
  if (program.empty() || o_.device != "cuda") {
    session_.note(suite("sanitizer", "compute-sanitizer", {}), "absent",
                  "there is no compute-sanitizer in PATH or CUDA's folders");
    return;
  }
  std::vector<std::string> tests{session_.program("lupine_device_tests"), "--device", o_.device};
  if (const std::string filter = filter_of_small_tests(); !filter.empty()) tests.push_back(filter);
  const std::vector<std::string> benchmark = ending_stalls(
      {session_.program("lupine"), "mxp", "-N", "600", "--nb", "128", "--device", o_.device});
  for (const char* tool : {"memcheck", "racecheck"})
    for (const std::vector<std::string>& small : {benchmark, tests})
      if (!sanitize(program, tool, small)) return;
}

}  // namespace lupine::gpu_check
