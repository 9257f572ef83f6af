// SPDX-License-Identifier: BSD-3-Clause
#include "measurements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <utility>

#include "floors.hpp"
#include "tasks.hpp"

namespace speedwell::gpu_check {

namespace {

using nlohmann::ordered_json;

/// A time such as "2026-11-22T02:36:13Z" in seconds since 1970; 0 for any other text.
double seconds_of(const ordered_json& text) {
  std::tm parts{};
  if (!text.is_string() ||
      strptime(text.get<std::string>().c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts) == nullptr)
    return 0;
  return static_cast<double>(timegm(&parts));
}

std::string list_of(const std::vector<std::int64_t>& values) {
  return fmt::format("{}", fmt::join(values, ","));
}

std::string words_of_solver(const ordered_json& result) {
  return fmt::format("n = {}, {:.4g} TFLOP/s, scaled residual {:.2g}", result["n"].dump(),
                     result["tflops"].get<double>(), result["scaled_residual"].get<double>());
}

}  // namespace

ordered_json Measurements::with_clocks(ordered_json report) const {
  if (!report.is_object()) return report;
  constexpr double resolution = 1;  // of the report's times, in seconds
  report["clocks"] =
      session_.clocks(seconds_of(report["start"]), seconds_of(report["end"]) + resolution);
  return report;
}

ordered_json Measurements::benchmark(const Run& run) {
  const std::string file =
      session_.scratch(fmt::format("{}-{}.json", run.step, session_.steps().size()));
  const std::string trace = session_.scratch(run.trace);
  Task task;
  task.step = run.step;
  task.name = run.name;
  task.command = ending_stalls({session_.program("speedwell"), run.step});
  if (run.n > 0) task.command.insert(task.command.end(), {"-N", std::to_string(run.n)});
  task.command.insert(task.command.end(), run.words.begin(), run.words.end());
  task.command.insert(task.command.end(), {"--device", o_.device, "--json", file, "--no-progress"});
  if (!run.trace.empty()) task.command.insert(task.command.end(), {"--trace", trace});
  task.limit = run.limit;
  task.reserve = run.reserve;
  task.least = least(run.least);
  task.must_end = run.must_end;
  task.may_not_fit = run.may_not_fit;
  task.result = [this, file](const Outcome&) { return with_clocks(json_file(file)); };
  task.words = [](const ordered_json& result) {
    return fmt::format("n = {}, {}, LU {}, scaled residual {:.2g}{}", result["n"].dump(),
                       tflops(result["gflops"].get<double>()),
                       tflops(result["lu"]["gflops"].get<double>()),
                       result["scaled_residual"].get<double>(), words_of_clocks(result["clocks"]));
  };
  ordered_json record = session_.run(task);
  if (!run.trace.empty()) session_.keep(trace, run.trace);
  return record["verdict"] == "passed" ? record["result"] : ordered_json();
}

void Measurements::smoke() {
  const std::int64_t n = o_.trial ? 200 : 20000;
  benchmark({.step = "mxp",
             .name = fmt::format("HPL-MxP, n = {}", n),
             .n = n,
             .limit = 60,
             .least = 5,
             .may_not_fit = false,
             .must_end = true});
}

void Measurements::sizes() {
  const std::int64_t middle = o_.trial ? 300 : 60000;
  const std::int64_t largest = o_.trial ? 500 : 0;
  // The part of this step's time for each of the two runs of the largest n.
  const double each = 0.4 * session_.remaining();
  benchmark({.step = "mxp",
             .name = fmt::format("HPL-MxP, n = {}", middle),
             .n = middle,
             .trace = fmt::format("trace-mxp-{}.json", middle),
             .limit = 60,
             .reserve = 2 * each,
             .least = 5,
             .must_end = true});
  const ordered_json report = benchmark({.step = "mxp",
                                         .name = "HPL-MxP, the largest n",
                                         .n = largest,
                                         .trace = "trace-mxp-largest.json",
                                         .reserve = each,
                                         .least = 20});
  if (report.is_object()) {
    largest_ = report["n"].get<std::int64_t>();
    nb_ = report["nb"].get<std::int64_t>();
    chunk_ = report.value("chunk", std::int64_t{0});
  }
  benchmark({.step = "mxp",
             .name = "HPL-MxP, the largest n, reserve 0",
             .n = largest_ > 0 ? largest_ : largest,
             .words = {"--reserve", "0"},
             .trace = "trace-mxp-largest-reserve-0.json",
             .least = 20});
}

ordered_json Measurements::lines_with_clocks(const Outcome& outcome) const {
  ordered_json lines = json_lines(outcome);
  for (ordered_json& line : lines)
    if (line.contains("ended"))
      line["clocks"] = session_.clocks(line["ended"].get<double>() - line.value("seconds", 0.0),
                                       line["ended"].get<double>());
  return lines;
}

/// Speedwell's own kernels: whether they are right, and their times. What was printed before the
/// end of the step's time counts.
void Measurements::kernels() {
  Task task;
  task.step = "kernels";
  task.name = "Speedwell's kernels";
  constexpr double start = 5;  // seconds that the driver, libraries and memory take
  const double seconds = std::clamp(session_.remaining() - start, 1.0, 455.0);
  task.command = {session_.program("speedwell_gpu_kernels"), "--json", "--budget",
                  fmt::format("{:.0f}", seconds)};
  if (o_.trial) task.command.emplace_back("--smoke");
  task.limit = seconds + 2 * start;
  task.may_be_cut = true;
  task.most_silent = 2 * silence_of_a_hang;
  task.result = [this](const Outcome& outcome) { return lines_with_clocks(outcome); };
  task.words = [](const ordered_json& lines) {
    std::string text;
    for (const ordered_json& line : lines)
      if (line.value("part", "") == "variants")
        text +=
            fmt::format("{}{} {}: {:.2f} ms by few kernels, {:.2f} by many",
                        text.empty() ? "" : "; ", line.value("operation", ""), line["size"].dump(),
                        line.value("few_milliseconds", 0.0), line.value("many_milliseconds", 0.0));
    return text;
  };
  session_.run(task);
}

void Measurements::ceilings() {
  Task task;
  task.step = "ceilings";
  task.name = "ceilings";
  // Its share of the time must suffice for some 27 products and parts of 3 s, one of 10 s, and 10 s
  // to allocate and fill memory.
  constexpr double runs = 37;
  const double seconds = std::clamp((session_.remaining() - 10) / runs, 0.1, 3.0);
  task.command = {session_.program("speedwell_gpu_ceilings"), "--json", "--seconds",
                  fmt::format("{:.2f}", seconds)};
  if (largest_ > 0) task.command.insert(task.command.end(), {"--n", std::to_string(largest_)});
  if (o_.trial) task.command.emplace_back("--smoke");
  task.limit = 150;
  // Measurements that it made before it was cut off count. It prints each of them.
  task.may_be_cut = true;
  task.most_silent = 2 * silence_of_a_hang;
  task.result = [this](const Outcome& outcome) { return lines_with_clocks(outcome); };
  task.words = [](const ordered_json& lines) {
    const ordered_json* best = nullptr;
    for (const ordered_json& line : lines)
      if (line.value("part", "") == "product" && line.value("precision", "") == "fp16" &&
          (best == nullptr || line.value("rate", 0.0) > best->value("rate", 0.0)))
        best = &line;
    if (best == nullptr) return std::string("no FP16 product");
    return fmt::format("FP16 product {:.4g} TFLOP/s{}", best->value("rate", 0.0),
                       words_of_clocks(best->value("clocks", ordered_json())));
  };
  session_.run(task);
}

void Measurements::hpl() {
  const double half = 0.5 * session_.remaining();
  const std::int64_t largest = o_.trial ? 400 : 0;
  const ordered_json report = benchmark({.step = "hpl",
                                         .name = "HPL, the largest n",
                                         .n = largest,
                                         .trace = "trace-hpl-largest.json",
                                         .limit = 150,
                                         .reserve = 0.8 * half,
                                         .least = 20});
  const std::int64_t nb = report.is_object() ? report["nb"].get<std::int64_t>() : 0;
  const std::int64_t other = o_.trial ? 32 : (nb == 1024 ? 512 : 1024);
  benchmark({.step = "hpl",
             .name = fmt::format("HPL, the largest n, nb {}", other),
             .n = report.is_object() ? report["n"].get<std::int64_t>() : largest,
             .words = {"--nb", std::to_string(other)},
             .limit = 150,
             .least = 20});
}

ordered_json Measurements::time_first_steps(const std::string& name,
                                            const std::vector<std::string>& words, double seconds) {
  const std::string file =
      session_.scratch(fmt::format("first-steps-{}.json", session_.steps().size()));
  Task task;
  task.step = "first_steps";
  task.name = name;
  task.command = {
      session_.program("speedwell"), "tune",     "-N",
      std::to_string(largest_),      "--budget", fmt::format("{:.1f}", std::max(seconds, 1.0))};
  task.command.insert(task.command.end(), words.begin(), words.end());
  task.command.insert(task.command.end(),
                      {"--device", o_.device, "--profile", "none", "--json", file});
  task.command = ending_stalls(std::move(task.command));
  task.limit = seconds + 40;
  task.least = least(8);
  task.may_not_fit = true;
  task.result = [file](const Outcome&) {
    ordered_json report = json_file(file);
    return report.is_object() ? report["tunings"][0] : ordered_json();
  };
  task.words = [](const ordered_json& result) {
    std::string text;
    for (const ordered_json& trial : result["trials"])
      text += fmt::format("{}nb {} chunk {}: {}", text.empty() ? "" : "; ", trial["nb"].dump(),
                          trial["chunk"].dump(), tflops(trial["gflops"].get<double>()));
    return text;
  };
  ordered_json record = session_.run(task);
  return record["verdict"] == "passed" ? record["result"] : ordered_json();
}

/// One program tries values of nb and chunk, then one program for each number of reserved
/// multiprocessors.
void Measurements::first_steps() {
  if (largest_ == 0) {
    session_.note(suite("first_steps", "first steps", {}), "not run",
                  "no run of the largest n passed");
    return;
  }
  const std::vector<std::int64_t> blocks = o_.trial
                                               ? std::vector<std::int64_t>{16, 32}
                                               : std::vector<std::int64_t>{1024, 1536, 3072, 4096};
  const std::int64_t chunk = chunk_ > 0 ? chunk_ : largest_;
  const std::vector<std::int64_t> chunks{std::max<std::int64_t>(chunk / 2, 1),
                                         2 * chunk < largest_ ? 2 * chunk : chunk / 4 + 1};
  const double start = o_.trial ? 0 : 8;
  const double seconds = 0.55 * session_.remaining() - start;
  const ordered_json found =
      time_first_steps("first steps: nb, chunk",
                       {"--try-nb", list_of(blocks), "--try-chunk", list_of(chunks)}, seconds);
  const std::int64_t nb = found.is_object() ? found["nb"].get<std::int64_t>() : nb_;
  // Each program times a first run, the table's values, and these values.
  constexpr double seconds_of_three = 12;
  for (const int reserve : {0, 8, 16})
    time_first_steps(fmt::format("first steps: nb {}, reserve {}", nb, reserve),
                     {"--try-nb", std::to_string(nb), "--reserve", std::to_string(reserve)},
                     seconds_of_three);
}

ordered_json Measurements::solve(const std::string& method, std::int64_t n, double limit) {
  Task task;
  task.step = "cusolver";
  task.name = fmt::format("cuSOLVER {}, {}", method == "irs" ? "IRSXgesv" : "Xgetrf",
                          n == 0 ? "the largest n" : fmt::format("n = {}", n));
  task.command = {session_.program("speedwell_cusolver_bench"), "--method", method, "--json"};
  if (n > 0) task.command.insert(task.command.end(), {"--n", std::to_string(n)});
  task.limit = limit;
  task.least = least(10);
  task.may_not_fit = true;
  task.may_not_load = true;
  task.not_available = {"cusolverDnIRSXgesv failed: cuSOLVER's status"};
  task.result = only_line;
  task.words = words_of_solver;
  ordered_json record = session_.run(task);
  return record["verdict"] == "passed" ? record["result"] : ordered_json();
}

/// Runs cuSOLVER's two methods, each followed by Speedwell at the same n.
void Measurements::cusolver() {
  const ordered_json irs = solve("irs", o_.trial ? 300 : 0, 90);
  if (irs.is_object())
    benchmark({.step = "mxp",
               .name = "HPL-MxP at IRSXgesv's largest n",
               .n = irs["n"].get<std::int64_t>()});
  // Xgetrf takes half a minute at its largest n, and Speedwell's HPL as long.
  constexpr double seconds_of_both = 100;
  const std::int64_t n = session_.remaining() > seconds_of_both ? 0 : 60000;
  const ordered_json getrf = solve("getrf", o_.trial ? 300 : n, 90);
  if (!getrf.is_object()) return;
  const std::int64_t same = getrf["n"].get<std::int64_t>();
  benchmark({.step = "hpl", .name = "HPL at Xgetrf's n", .n = same});
  benchmark({.step = "hpl",
             .name = "HPL at Xgetrf's n, reserve 0",
             .n = same,
             .words = {"--reserve", "0"}});
}

/// Writes the machine file of this GPU, with which `speedwell predict` predicts runs on it.
void Measurements::machine() {
  const std::string name = "machine.json";
  const std::string file = session_.scratch(name);
  constexpr double start = 5;  // seconds that the driver, libraries and memory take
  const double seconds =
      o_.trial ? 0.02 : std::clamp(0.8 * (session_.remaining() - start), 2.0, 60.0);
  Task task;
  task.step = "machine";
  task.name = "machine file";
  task.command = ending_stalls({session_.program("speedwell"), "predict", "--calibrate", file,
                                "--budget", fmt::format("{:g}", seconds), "--device", o_.device});
  task.limit = 2 * seconds + 30;
  task.least = least(8);
  task.result = [file](const Outcome&) { return json_file(file); };
  task.words = [name](const ordered_json& result) {
    const nlohmann::json_pointer<std::string> rate("/ranks/0/operations/product fp16/rate");
    return fmt::format("{}, FP16 product {}", name, tflops(result.value(rate, 0.0) / giga));
  };
  session_.run(task);
  session_.keep(file, name);
}

}  // namespace speedwell::gpu_check
