// SPDX-License-Identifier: BSD-3-Clause
/// `lupine-predict`, which `lupine predict` starts: one prediction.
#include <mpi.h>
#include <cstdio>
#include <cstdlib>
#include <lupine/error.hpp>

#include "app/arguments.hpp"
#include "app/benchmark_command.hpp"
#include "app/output.hpp"
#include "comm/communicator.hpp"
#include "paper/world.hpp"

namespace lupine {
namespace {

int predict(std::vector<std::string> words) {
  paper::Scenario scenario;
  scenario.machine = load_machine(words[1], {"/work/main/share/lupine/machines"});
  scenario.ranks = std::atoi(words[2].c_str());
  scenario.device = scenario.machine.device(scenario.machine.devices_of_rank.front().threads);
  const Arguments parsed = parse_arguments({words.begin() + 3, words.end()});
  int status = 0;
  paper::simulate(scenario, [&] {
    try {
      int argc = 0;
      char** argv = nullptr;
      const MpiSession mpi(argc, argv);
      Arguments arguments = parsed;
      arguments.options.run.stall_timeout = 0;
      arguments.options.run.threads = std::max(1, scenario.device.threads);
      const Communicator world = Communicator::duplicate(MPI_COMM_WORLD);
      status = run_benchmarks(world, arguments, {"", "none"}, quoted(words), {});
    } catch (const std::exception& error) {
      complain(error.what());
      std::fflush(nullptr);
      std::_Exit(2);
    }
  });
  return status;
}

}  // namespace
}  // namespace lupine

int main(int argc, char** argv) {
  try {
    return lupine::predict({argv, argv + argc});
  } catch (const std::exception& error) {
    lupine::complain(error.what());
    return 2;
  }
}
