// SPDX-License-Identifier: BSD-3-Clause
#include "suites.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <sstream>
#include <string_view>
#include <thread>
#include <utility>

#include "core/counted.hpp"
#include "profile.hpp"
#include "repetition.hpp"
#include "tasks.hpp"

namespace speedwell::gpu_check {

using nlohmann::ordered_json;

namespace {

/// Catch2 then prints a line at the end of each test, so that silence shows a hang.
void show_durations(Task& task) {
  task.command.insert(task.command.end(), {"--durations", "yes"});
  task.most_silent = silence_of_a_hang;
}

/// A tool of CUDA: in PATH, in CUDA's folders, or in one of `folders`. Empty if it is in none.
std::string find_tool(const std::string& name, std::vector<std::string> folders) {
  for (const char* variable : {"CUDA_HOME", "CUDA_PATH"})
    if (const char* value = std::getenv(variable); value != nullptr)
      folders.push_back(std::string(value) + "/bin");
  folders.emplace_back("/usr/local/cuda/bin");
  return find_program(name, folders);
}

/// The first error that compute-sanitizer reports, with the line of the source where it has one.
std::string first_finding(const Outcome& outcome) {
  const std::string said = outcome.out + outcome.err;
  constexpr std::string_view mark = "========= ";
  std::istringstream lines(said);
  std::string found;
  for (std::string line; std::getline(lines, line);) {
    if (line.rfind(mark, 0) != 0) continue;
    const std::string words = line.substr(mark.size());
    if (found.empty()) {
      for (const char* begin : {"Invalid", "Error", "Race", "Uninitialized", "Barrier"})
        if (words.rfind(begin, 0) == 0) found = words;
    } else if (const std::size_t at = words.find(" in "); at != std::string::npos) {
      return found + words.substr(at);  // "    at kernel(int)+0x50 in file.cu:12"
    } else if (words.rfind("  ", 0) != 0) {
      return found;  // the next report
    }
  }
  return found;
}

}  // namespace

void Suites::device() {
  Task task = suite("device", "device conformance",
                    {session_.program("speedwell_device_tests"), "--device", o_.device});
  show_durations(task);
  task.limit = 90;
  // 31 s on an H200; other GPUs may take longer. The summary says if it was cut off.
  task.may_be_cut = true;
  session_.run(task);
  task.name = "device conformance, by many kernels";
  task.command = with_variables(
      {"SPEEDWELL_GPU_KERNELS=many"},
      {session_.program("speedwell_device_tests"), "--device", o_.device, "[factor]"});
  task.needs = session_.program("speedwell_device_tests");
  show_durations(task);
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
  // Ranks that are bound to no cores would each start a thread on every core, and wait for them.
  const unsigned cores = std::thread::hardware_concurrency() / static_cast<unsigned>(count);
  std::vector<std::string> command = with_variables(
      {fmt::format("OMP_NUM_THREADS={}", std::max(cores, 1U)), "OMP_WAIT_POLICY=passive"}, mpirun_);
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
  task.name = fmt::format("{}, {}", what, counted(count, "rank"));
  task.command = ranks(count, program);
  if (!filter.empty()) task.command.push_back(filter);
  show_durations(task);
  task.needs = session_.program(program);
  task.limit = 90;
  session_.run(task);
}

void Suites::mpi() {
  for (const int count : {1, 2, 4})
    on_ranks("mpi", "MPI suite", "speedwell_mpi_tests", count, "~[solve]");
}

void Suites::accuracy() {
  for (const int count : {1, 4})
    on_ranks("accuracy", "accuracy against LAPACK", "speedwell_accuracy_tests", count);
}

void Suites::systems() {
  for (const int count : {1, 4})
    on_ranks("systems", "users' systems", "speedwell_mpi_tests", count, "[solve]");
}

/// Catch2's filter of the small device tests, or, if none has that tag, of the tests of Speedwell's
/// own kernels.
std::string Suites::filter_of_small_tests() {
  const std::string program = session_.program("speedwell_device_tests");
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
                      const std::vector<std::string>& small, int later) {
  Task task;
  task.step = "sanitizer";
  task.name = fmt::format("{}: {}", tool, small[0].substr(small[0].rfind('/') + 1));
  task.command = {program, "--tool", tool, "--target-processes", "all", "--error-exitcode", "9"};
  // Speedwell makes CUDA calls that may fail by design (queries) and checks each, so memcheck,
  // which alone knows errors of the API, does not report them.
  if (tool == "memcheck") task.command.insert(task.command.end(), {"--report-api-errors", "no"});
  task.command.insert(task.command.end(), small.begin(), small.end());
  // To instrument all kernels of cuBLAS, where the program loads them at its start, takes minutes.
  task.command = with_variables({"CUDA_MODULE_LOADING=LAZY"}, task.command);
  task.needs = small[0];
  task.limit = 60;
  task.least = 1;  // a tool that starts at all is worth its small part
  task.reserve = session_.remaining() * later / (later + 1);
  task.repeat = false;  // the tool has named the kernel and the line
  task.finding = first_finding;
  task.not_available = {"Device not supported", "device is not supported", "Initialization failed",
                        "InitializeInjection", "ERR_NVGPUCTRPERM"};
  // The tool makes a program hundreds of times slower, so reaching the limit is not a failure.
  task.may_be_cut = true;
  const ordered_json record = session_.run(task);
  if (record["verdict"] != "cut off") return record["verdict"] != "not available";
  Outcome said;
  said.out = record.value("output", "") + record.value("errors", "");
  if (const std::string found = first_finding(said); !found.empty()) {
    task.name += ", before it was cut off";
    session_.note(task, "failed", found);
  }
  return true;
}

void Suites::sanitizers() {
  const std::string program = find_tool("compute-sanitizer", {"/usr/local/cuda/compute-sanitizer"});
  if (program.empty() || o_.device != "cuda") {
    session_.note(suite("sanitizer", "compute-sanitizer", {}), "absent",
                  "there is no compute-sanitizer in PATH or CUDA's folders");
    return;
  }
  std::vector<std::string> tests{session_.program("speedwell_device_tests"), "--device", o_.device};
  if (const std::string filter = filter_of_small_tests(); !filter.empty()) tests.push_back(filter);
  const std::vector<std::string> benchmark = ending_stalls(
      {session_.program("speedwell"), "mxp", "-N", "600", "--nb", "128", "--device", o_.device});
  const std::array tools = {"memcheck", "racecheck", "synccheck", "initcheck"};
  int later = 2 * static_cast<int>(tools.size());
  for (const char* tool : tools)
    for (const std::vector<std::string>& small : {benchmark, tests})
      if (!sanitize(program, tool, small, --later)) return;
}

void Suites::big() {
  Task task =
      suite("big", "update of a big shape",
            {session_.program("speedwell_gpu_big_update"), "--json", "--device", o_.device});
  if (o_.trial) task.command.emplace_back("--smoke");
  task.limit = 60;
  task.result = only_line;
  task.words = [](const ordered_json& result) {
    return fmt::format("{}, worst error {:.2g} of its bound", result["name"].get<std::string>(),
                       result["worst"].get<double>());
  };
  session_.run(task);
}

void Suites::profile() {
  Task task = suite("profile", "profile by ncu", {});
  const std::string program = find_tool("ncu", {"/usr/local/cuda/nsight-compute"});
  if (program.empty() || o_.device != "cuda") {
    session_.note(task, "absent", "there is no ncu in PATH or CUDA's folders");
    return;
  }
  task.command = {program,
                  "--target-processes",
                  "all",
                  "--launch-count",
                  "60",
                  "--csv",
                  "--page",
                  "details",
                  session_.program("speedwell_gpu_big_update"),
                  "--profile"};
  if (o_.trial) task.command.emplace_back("--smoke");
  task.needs = session_.program("speedwell_gpu_big_update");
  task.limit = 60;
  task.may_be_cut = true;  // what a counter costs is not known
  task.may_fail = true;    // the machine may forbid counters, and a tool may not know its GPU
  task.not_available = {"ERR_NVGPUCTRPERM", "No kernels were profiled", "not supported"};
  task.result = profiled_kernels;
  task.words = words_of_profile;
  session_.run(task);
}

}  // namespace speedwell::gpu_check
