#include "steps.hpp"

#include <fmt/format.h>
#include <lupine/error.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>

#include "conclusions.hpp"

namespace lupine::gpu_check {

namespace {

using nlohmann::ordered_json;

/// Of the budget, kept for the measurements while the tests run.
constexpr double share_of_measurements = 0.45;
/// An option of lupine's that is left to it.
constexpr std::int64_t its_own = -1;

std::string words_of(std::int64_t reserve) {
  return reserve == its_own ? "by work" : std::to_string(reserve);
}

std::string tflops(double gflops) {
  return fmt::format("{:.4g} TFLOP/s", gflops / 1e3);
}

/// Every line that is a JSON object; others are somebody else's words.
ordered_json json_lines(const Outcome& outcome) {
  ordered_json all = ordered_json::array();
  std::istringstream lines(outcome.out);
  for (std::string line; std::getline(lines, line);) {
    ordered_json value = ordered_json::parse(line, nullptr, false);
    if (value.is_object()) all.push_back(std::move(value));
  }
  return all;
}

ordered_json only_line(const Outcome& outcome) {
  ordered_json all = json_lines(outcome);
  return all.empty() ? ordered_json() : all.back();
}

ordered_json json_file(const std::string& path) {
  std::ifstream file(path);
  if (!file) return {};
  ordered_json value = ordered_json::parse(file, nullptr, false);
  return value.is_object() ? value : ordered_json();
}

/// Tests; what they say of themselves is their last line.
Task suite(const std::string& step, const std::string& name, std::vector<std::string> command) {
  Task task;
  task.step = step;
  task.name = name;
  task.command = std::move(command);
  return task;
}

class Steps {
 public:
  explicit Steps(Session& session) : session_(session), o_(session.options()) {}
  void run() {
    facts();
    device_tests();
    mpi_tests();
    accuracy_tests();
    sanitizers();
    ceilings();
    sizes();
    hpl_sizes();
    sweep();
    cusolver();
  }

 private:
  /// Time that the tests leave to the measurements.
  double kept() const { return share_of_measurements * o_.budget; }
  void facts();
  void device_tests();
  void mpi_tests();
  void accuracy_tests();
  void sanitizers();
  void sanitize(const std::string& program, const std::string& tool,
                const std::vector<std::string>& small);
  std::string filter_of_small_tests();
  void ceilings();
  void sizes();
  void hpl_sizes();
  void sweep();
  void cusolver();

  ordered_json run(const Task& task);
  std::vector<std::string> ranks(int count, const std::string& program, double& limit) const;
  void on_ranks(const std::string& step, const std::string& what, const std::string& program,
                int count, double limit);
  /// `lupine words...` with a report. @return its JSON; null unless it passed
  ordered_json benchmark(const std::string& step, const std::string& name,
                         const std::vector<std::string>& words);
  /// n = 0: the largest that fits. @return the JSON of lupine mxp; null unless it passed
  ordered_json mxp(const std::string& step, const std::string& name, std::int64_t n,
                   std::int64_t nb, std::int64_t reserve);
  ordered_json solve(const std::string& method, std::int64_t n, double limit);

  Session& session_;
  const Options& o_;
  std::int64_t best_nb_ = its_own;
  std::int64_t best_reserve_ = its_own;
};

/// The conclusions are those of what has been run so far, at any moment.
ordered_json Steps::run(const Task& task) {
  ordered_json record = session_.run(task);
  session_.document()["table"] = table(session_.steps());
  session_.document()["goals"] = goals(session_.steps());
  session_.save();
  return record;
}

void Steps::facts() {
  Task task;
  task.step = "facts";
  task.name = "nvidia-smi";
  const std::string smi = find_program("nvidia-smi");
  const std::string fields =
      "name,driver_version,memory.total,power.limit,clocks.sm,clocks.mem,clocks.max.sm,"
      "clocks.max.mem,temperature.gpu,power.draw";
  if (smi.empty()) {
    session_.note(task, "absent", "there is no nvidia-smi");
    return;
  }
  task.command = {smi, "--query-gpu=" + fields, "--format=csv"};
  task.limit = 20;
  task.may_be_cut = true;
  task.result = [](const Outcome& outcome) { return ordered_json(outcome.out); };
  task.words = [](const ordered_json& text) {
    std::istringstream lines(text.get<std::string>());
    std::string line;
    std::getline(lines, line);
    std::getline(lines, line);
    return line;
  };
  run(task);
}

void Steps::device_tests() {
  Task task = suite("device", "device conformance",
                    {session_.program("lupine_device_tests"), "--device", o_.device});
  task.limit = 90;
  task.reserve = kept();
  run(task);
}

std::vector<std::string> Steps::ranks(int count, const std::string& program, double& limit) const {
  std::vector<std::string> command{find_program(o_.mpirun)};
  if (command[0].empty()) command[0] = o_.mpirun;
  const Outcome version = run_child({command[0], "--version"}, 10);
  limit -= version.seconds;
  const bool open_mpi = version.out.find("Open MPI") != std::string::npos ||
                        version.out.find("OpenRTE") != std::string::npos;
  if (open_mpi) command.insert(command.end(), {"--oversubscribe", "--bind-to", "none"});
  command.insert(command.end(),
                 {"-n", std::to_string(count), session_.program(program), "--device", o_.device});
  // Several ranks share the one GPU, which NCCL refuses.
  if (count > 1) command.insert(command.end(), {"--comm", "staged"});
  return command;
}

void Steps::on_ranks(const std::string& step, const std::string& what, const std::string& program,
                     int count, double limit) {
  Task task;
  task.step = step;
  task.name = fmt::format("{}, {} rank{}", what, count, count == 1 ? "" : "s");
  task.limit = limit;
  task.command = ranks(count, program, task.limit);
  task.needs = session_.program(program);
  task.reserve = kept();
  run(task);
}

void Steps::mpi_tests() {
  for (const int count : {1, 2, 4}) on_ranks("mpi", "MPI suite", "lupine_mpi_tests", count, 90);
}

void Steps::accuracy_tests() {
  for (const int count : {1, 4})
    on_ranks("accuracy", "accuracy against LAPACK", "lupine_accuracy_tests", count, 60);
}

/// The small tests of the device if there are any; else those of Lupine's own kernels.
std::string Steps::filter_of_small_tests() {
  const std::string program = session_.program("lupine_device_tests");
  if (find_program(program).empty()) return "";
  const std::string tags = run_child({program, "--list-tags"}, 20).out;
  std::string filter;
  for (const char* tag : {"[small]", "[cast]", "[fp64]", "[generate]", "[factor]", "[solve]"}) {
    if (tags.find(tag) == std::string::npos) continue;
    filter += (filter.empty() ? "" : ",") + std::string(tag);
    if (filter == "[small]") break;
  }
  return filter;
}

void Steps::sanitize(const std::string& program, const std::string& tool,
                     const std::vector<std::string>& small) {
  Task task;
  task.step = "sanitizer";
  task.name = fmt::format("{}: {}", tool, small[0].substr(small[0].rfind('/') + 1));
  // Calls that are refused are part of the work (is it done? does it fit?): each is looked at.
  task.command = {
      program, "--tool",           tool, "--target-processes", "all", "--report-api-errors",
      "no",    "--error-exitcode", "9"};
  task.command.insert(task.command.end(), small.begin(), small.end());
  task.needs = small[0];
  task.limit = 60;
  task.reserve = kept();
  // Under it a program takes hundreds of times as long: the limit alone says nothing of the code.
  task.may_be_cut = true;
  ordered_json record = run(task);
  const std::string said = record.value("output", "") + record.value("errors", "");
  if (record["verdict"] != "cut off") return;
  for (const char* finding : {"========= Invalid", "========= Error", "========= Race"})
    if (said.find(finding) != std::string::npos) {
      Task found = task;
      found.name += ", before it was cut off";
      session_.note(found, "failed", "it had reported an error: see \"output\"");
      return;
    }
}

void Steps::sanitizers() {
  const auto folder_in = [](const char* variable) {
    const char* value = std::getenv(variable);
    return value == nullptr ? std::string("/nonexistent") : std::string(value);
  };
  const std::string program = find_program(
      "compute-sanitizer", {folder_in("CUDA_HOME") + "/bin", folder_in("CUDA_PATH") + "/bin",
                            "/usr/local/cuda/bin", "/usr/local/cuda/compute-sanitizer"});
  if (program.empty() || o_.device != "cuda") {
    Task task;
    task.step = "sanitizer";
    task.name = "compute-sanitizer";
    session_.note(task, "absent", "there is no compute-sanitizer in PATH or CUDA's folders");
    return;
  }
  std::vector<std::string> tests{session_.program("lupine_device_tests"), "--device", o_.device};
  if (const std::string filter = filter_of_small_tests(); !filter.empty()) tests.push_back(filter);
  for (const char* tool : {"memcheck", "racecheck"}) {
    sanitize(program, tool, tests);
    sanitize(
        program, tool,
        {session_.program("lupine"), "mxp", "-N", "600", "--nb", "128", "--device", o_.device});
  }
}

void Steps::ceilings() {
  Task task;
  task.step = "ceilings";
  task.name = "ceilings";
  // Ten seconds a product where there is time for them: a hot GPU is slower than a cold one.
  const double seconds = std::clamp(session_.remaining() / 40, 0.2, 10.0);
  task.command = {session_.program("lupine_gpu_ceilings"), "--json", "--seconds",
                  fmt::format("{:.2f}", seconds)};
  if (o_.trial) task.command.emplace_back("--smoke");
  task.limit = 10 * seconds + 60;
  task.reserve = 0.1 * o_.budget;
  task.result = json_lines;
  task.words = [](const ordered_json& lines) {
    double best = 0;
    for (const ordered_json& line : lines)
      if (line.value("part", "") == "product" && line.value("precision", "") == "fp16")
        best = std::max(best, line.value("rate", 0.0));
    return fmt::format("FP16 product {:.4g} TFLOP/s", best);
  };
  run(task);
}

ordered_json Steps::benchmark(const std::string& step, const std::string& name,
                              const std::vector<std::string>& words) {
  const std::string file =
      session_.scratch(fmt::format("{}-{}.json", step, session_.steps().size()));
  Task task;
  task.step = step;
  task.name = name;
  task.command = {session_.program("lupine")};
  task.command.insert(task.command.end(), words.begin(), words.end());
  task.command.insert(task.command.end(), {"--device", o_.device, "--json", file, "--no-progress"});
  task.limit = 120;
  task.may_not_fit = true;
  task.result = [file](const Outcome&) { return json_file(file); };
  task.words = [](const ordered_json& result) {
    return fmt::format("n = {}, {}, LU {}, scaled residual {:.2g}", result["n"].dump(),
                       tflops(result["gflops"].get<double>()),
                       tflops(result["lu"]["gflops"].get<double>()),
                       result["scaled_residual"].get<double>());
  };
  ordered_json record = run(task);
  return record["verdict"] == "passed" ? record["result"] : ordered_json();
}

ordered_json Steps::mxp(const std::string& step, const std::string& name, std::int64_t n,
                        std::int64_t nb, std::int64_t reserve) {
  std::vector<std::string> words{"mxp"};
  const auto add = [&](const char* option, std::int64_t value) {
    words.insert(words.end(), {option, std::to_string(value)});
  };
  if (n > 0) add("-N", n);
  if (nb != its_own) add("--nb", nb);
  if (reserve != its_own) add("--reserve", reserve);
  return benchmark(step, name, words);
}

/// FP64 beside it, and HPL-MxP with pivoting. The largest n comes where the time is known to do.
void Steps::hpl_sizes() {
  const auto text = [](std::int64_t value) { return std::to_string(value); };
  const std::int64_t middle = o_.trial ? 300 : 60000;
  benchmark("pivoted", fmt::format("HPL-MxP with pivoting, n = {}", middle),
            {"mxp", "--pivot", "partial", "-N", text(middle)});
  const std::vector<std::int64_t> blocks =
      o_.trial ? std::vector<std::int64_t>{32, 64} : std::vector<std::int64_t>{512, 1024, 2048};
  double best = 0;
  std::int64_t best_nb = blocks.front();
  for (const std::int64_t nb : blocks) {
    const ordered_json result = benchmark("hpl", fmt::format("HPL, n = {}, nb {}", middle, nb),
                                          {"hpl", "-N", text(middle), "--nb", text(nb)});
    if (!result.is_object() || result["gflops"].get<double>() <= best) continue;
    best = result["gflops"].get<double>();
    best_nb = nb;
  }
  if (best == 0) return;
  std::vector<std::string> words{"hpl", "--nb", text(best_nb)};
  if (o_.trial) words.insert(words.end(), {"-N", "400"});
  benchmark("hpl", fmt::format("HPL, the largest n, nb {}", best_nb), words);
}

void Steps::sizes() {
  const std::vector<std::int64_t> all = o_.trial ? std::vector<std::int64_t>{200, 300, 400}
                                                 : std::vector<std::int64_t>{20000, 60000, 120000};
  for (const std::int64_t n : all)
    mxp("mxp", fmt::format("HPL-MxP, n = {}", n), n, its_own, its_own);
  mxp("mxp", "HPL-MxP, the largest n", o_.trial ? 500 : 0, its_own, its_own);
}

void Steps::sweep() {
  const std::int64_t n = o_.trial ? 300 : 60000;
  const std::vector<std::int64_t> blocks =
      o_.trial ? std::vector<std::int64_t>{32, 64}
               : std::vector<std::int64_t>{1024, 1536, 2048, 3072, 4096};
  double best = 0;
  const auto attempt = [&](std::int64_t nb, std::int64_t reserve) {
    const ordered_json result =
        mxp("sweep", fmt::format("nb {}, reserve {}", nb, words_of(reserve)), n, nb, reserve);
    if (!result.is_object() || result["gflops"].get<double>() <= best) return;
    best = result["gflops"].get<double>();
    best_nb_ = nb;
    best_reserve_ = reserve;
  };
  for (const std::int64_t nb : blocks) attempt(nb, its_own);
  if (best_nb_ == its_own) return;
  for (const std::int64_t reserve : {0, 4, 8, 16}) attempt(best_nb_, reserve);
  session_.document()["best"] = {{"n", n}, {"nb", best_nb_}, {"reserve", words_of(best_reserve_)}};
  mxp("mxp", fmt::format("the largest n, nb {}, reserve {}", best_nb_, words_of(best_reserve_)),
      o_.trial ? 500 : 0, best_nb_, best_reserve_);
}

ordered_json Steps::solve(const std::string& method, std::int64_t n, double limit) {
  Task task;
  task.step = "cusolver";
  task.name = fmt::format("cuSOLVER {}, {}", method == "irs" ? "IRSXgesv" : "Xgetrf",
                          n == 0 ? "the largest n" : fmt::format("n = {}", n));
  task.command = {session_.program("lupine_cusolver_bench"), "--method", method, "--json"};
  if (n > 0) task.command.insert(task.command.end(), {"--n", std::to_string(n)});
  task.limit = limit;
  task.may_not_fit = true;
  task.may_not_load = true;
  task.result = only_line;
  task.words = [](const ordered_json& result) {
    return fmt::format("n = {}, {:.4g} TFLOP/s, scaled residual {:.2g}", result["n"].dump(),
                       result["tflops"].get<double>(), result["scaled_residual"].get<double>());
  };
  ordered_json record = run(task);
  return record["verdict"] == "passed" ? record["result"] : ordered_json();
}

void Steps::cusolver() {
  const ordered_json irs = solve("irs", o_.trial ? 300 : 0, 90);
  if (irs.is_object())
    mxp("mxp", "HPL-MxP at IRSXgesv's largest n", irs["n"].get<std::int64_t>(), its_own, its_own);
  for (const std::int64_t n :
       o_.trial ? std::vector<std::int64_t>{200} : std::vector<std::int64_t>{20000, 60000})
    for (const char* method : {"irs", "getrf"}) solve(method, n, 60);
  solve("getrf", o_.trial ? 300 : 0, 120);
}

}  // namespace

Gpu find_gpu(Session& session) {
  const std::string lupine = session.program("lupine");
  if (find_program(lupine).empty()) throw Fault(fmt::format("there is no {}", lupine));
  Task task;
  task.step = "facts";
  task.name = "lupine info";
  task.command = {lupine, "info"};
  const Outcome outcome = run_child(task.command, 60);
  if (!outcome.passed())
    throw Fault(fmt::format("{} info: {} {}", lupine, outcome.ending(), outcome.err));
  session.document()["info"] = outcome.out;
  std::istringstream lines(outcome.out);
  Gpu gpu{"", "", fmt::format("{} info names none", lupine)};
  const std::string none = "none: ";
  for (std::string line; std::getline(lines, line);) {
    const auto value = [&](const std::string& label) -> std::optional<std::string> {
      if (line.rfind(label + " ", 0) != 0) return std::nullopt;
      const std::size_t begin = line.find_first_not_of(' ', label.size());
      return begin == std::string::npos ? "" : line.substr(begin);
    };
    if (const auto version = value("Lupine")) session.document()["version"] = *version;
    if (const auto revision = value("revision")) session.document()["revision"] = *revision;
    const auto cuda = value("device cuda");
    if (!cuda || !gpu.name.empty()) continue;
    if (cuda->rfind(none, 0) == 0) {
      gpu.why = cuda->substr(none.size());
      continue;
    }
    // "GPU 0 (NVIDIA H200, GPU-01234567), 138.9 GiB free: ..."
    const std::size_t open = cuda->find('(');
    gpu.name = cuda->substr(open == std::string::npos ? 0 : open + 1);
    gpu.name = gpu.name.substr(0, gpu.name.find_first_of(",)"));
    gpu.description = *cuda;
  }
  session.document()["gpu"] = gpu.description;
  return gpu;
}

void run_steps(Session& session) {
  Steps(session).run();
}

}  // namespace lupine::gpu_check
