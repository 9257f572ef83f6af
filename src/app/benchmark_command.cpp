#include "app/benchmark_command.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/output.hpp"
#include "bench/agreement.hpp"
#include "bench/benchmark_runner.hpp"
#include "bench/progress.hpp"
#include "bench/report.hpp"
#include "bench/report_json.hpp"
#include "io/json.hpp"

namespace lupine {

namespace {

void announce(const Setup& setup, const std::vector<std::string>& notes) {
  for (const std::string& note : setup.notes) complain("warning: " + note);
  print(report_head(setup, notes));
}

BenchmarkRun run_once(BenchmarkRunner& bench, bool show_progress) {
  if (!show_progress) return bench.run();
  ProgressLines lines;
  return bench.run([&](const Progress& progress) {
    if (const auto line = lines.line(progress)) print_progress(*line);
  });
}

}  // namespace

int run_benchmarks(const Communicator& world, const Arguments& arguments, const std::string& command_line,
            const std::vector<std::string>& notes) {
  const std::string& json = arguments.json;
  on_rank_0(world, [&] {
    if (!json.empty()) check_writable(json, "--json");
  });
  BenchmarkRunner bench(world.handle(), arguments.mxp);
  on_rank_0(world, [&] { announce(bench.setup(), notes); });

  std::vector<BenchmarkRun> runs;
  for (int i = 0; i < arguments.repeat; ++i) {
    runs.push_back(run_once(bench, arguments.progress.value_or(error_is_terminal())));
    on_rank_0(world, [&] { print(report_run(bench.setup(), runs.back())); });
  }
  const auto passed = static_cast<int>(
      std::count_if(runs.begin(), runs.end(), [](const BenchmarkRun& run) { return run.result.passed; }));
  const int failed = arguments.repeat - passed;
  on_rank_0(world, [&] {
    print(report_tail(passed, failed));
    if (!json.empty()) write_json(json, json_report(bench.setup(), runs, command_line, notes));
  });
  return failed == 0 ? 0 : 1;
}

}  // namespace lupine
