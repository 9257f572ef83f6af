// SPDX-License-Identifier: BSD-3-Clause
/// `speedwell-predict`, which `speedwell predict` starts: runs on a simulated machine. It reads the
/// same words as `speedwell`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <speedwell/error.hpp>

#include "app/arguments.hpp"
#include "app/benchmark_command.hpp"
#include "app/files.hpp"
#include "app/output.hpp"
#include "comm/communicator.hpp"
#include "paper/step_cost.hpp"
#include "paper/world.hpp"

namespace speedwell {
namespace {

/// The folders of the shipped machines: of an installation, and of a build.
std::vector<std::filesystem::path> machine_folders() {
  const auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path();
  return {program.parent_path() / "share/speedwell/machines", program / "share/speedwell/machines"};
}

/// The ranks that the process grids of the run need; 0 where none is given whole.
int ranks_of_grids(const Arguments& arguments) {
  const RunOptions& run = arguments.options.run;
  int most = run.nprow * run.npcol;
  if (arguments.command == Command::bench) return most;
  const HplDat& lists = arguments.choices;
  for (std::size_t i = 0; i < lists.p.size(); ++i) most = std::max(most, lists.p[i] * lists.q[i]);
  return most;
}

/// The machine with as many ranks as the arguments ask for.
paper::Scenario scenario_of(const Arguments& arguments) {
  paper::Scenario scenario;
  scenario.machine = load_machine(arguments.predict.machine, machine_folders());
  const MachineModel& machine = scenario.machine;
  const RunOptions& run = arguments.options.run;
  if (run.device == DeviceKind::cpu)
    throw UsageError(
        fmt::format("--device cpu: {} has GPUs; allowed: --device cuda, auto", machine.name));
  const int grids = ranks_of_grids(arguments);
  scenario.ranks = arguments.predict.ranks > 0 ? arguments.predict.ranks
                   : grids > 0                 ? grids
                                               : machine.ranks();
  if (scenario.ranks > machine.ranks())
    throw UsageError(fmt::format("{} ranks are more than {} has; allowed: 1 to {}", scenario.ranks,
                                 machine.name, machine.ranks()));
  scenario.corrections = arguments.predict.corrections;
  scenario.seed = arguments.options.seed;
  return scenario;
}

/// Runs work(world, run) as every simulated rank, on a machine whose clock is SimGrid's. `run` has
/// the options for a rank of the scenario.
void simulate_ranks(
    const paper::Scenario& scenario, RunOptions run,
    const std::function<void(const Communicator& world, const RunOptions& run)>& work) {
  run.stall_timeout = 0;
  run.threads = 1;
  paper::simulate(scenario, [&] {
    const Ending ending = ending_of([&] {
      int argc = 0;
      char** argv = nullptr;
      const MpiSession mpi(argc, argv);
      work(Communicator::duplicate(comm_world()), run);
      return 0;
    });
    if (ending.status == 0) return;
    // The other ranks have met the same error, or would wait for this one for ever.
    finish(ending);
    std::fflush(nullptr);
    std::_Exit(ending.status);
  });
}

/// The command as it is.
int predict_runs(const paper::Scenario& scenario, const Arguments& parsed,
                 const std::string& command_line) {
  int status = 0;
  simulate_ranks(
      scenario, parsed.options.run, [&](const Communicator& world, const RunOptions& run) {
        Arguments arguments = parsed;
        arguments.options.run = run;
        const int mine = run_benchmarks(world, arguments, {"", "none"}, command_line, {});
        // Each simulated rank has static variables of its own, its losses too.
        status = std::max({status, mine, lost_status()});
      });
  return status;
}

/// The document of a prediction, if one was asked for.
void write_document(const Arguments& arguments, nlohmann::ordered_json document,
                    const std::string& command_line) {
  if (arguments.json.empty()) return;
  document["command_line"] = command_line;
  try_json(arguments.json, [&] { return document; });
}

int predict_steps(const paper::Scenario& scenario, const Arguments& arguments,
                  const std::string& command_line) {
  const PredictArguments& asked = arguments.predict;
  const paper::SystemSizes sizes{.n = asked.n,
                                 .right_hand_sides = asked.rhs > 0 ? asked.rhs : asked.n,
                                 .field = asked.complex ? Field::complex : Field::real};
  const std::vector<Precision> precisions =
      asked.precisions.empty() ? paper::precisions_of(scenario) : asked.precisions;
  std::vector<paper::StepCost> steps;
  simulate_ranks(scenario, arguments.options.run,
                 [&](const Communicator& world, const RunOptions& run) {
                   auto mine = paper::step_costs(sizes, run, precisions);
                   if (world.rank() == 0) steps = std::move(mine);
                 });
  write_document(arguments, paper::step_json(scenario, sizes, steps), command_line);
  print(paper::step_text(scenario, sizes, steps));
  return 0;
}

int run(const std::vector<std::string>& words) {
  Arguments arguments = parse_arguments({words.begin() + 1, words.end()});
  if (arguments.command == Command::print) {
    print(arguments.text);
    return 0;
  }
  if (!arguments.predict.on || arguments.command == Command::calibrate)
    throw UsageError(
        "speedwell-predict is a part of speedwell; allowed: speedwell predict mxp|hpl|bench|solve");
  const paper::Scenario scenario = scenario_of(arguments);
  arguments.predict.machine = scenario.machine.path;  // of a shipped machine too
  if (arguments.command != Command::solve) return predict_runs(scenario, arguments, quoted(words));
  check_files(arguments, {});
  return predict_steps(scenario, arguments, quoted(words));
}

}  // namespace
}  // namespace speedwell

int main(int argc, char** argv) {
  return speedwell::finish(speedwell::ending_of([&] {
    return std::max(speedwell::run({argv, argv + argc}), speedwell::lost_status());
  }));
}
