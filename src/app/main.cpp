// SPDX-License-Identifier: BSD-3-Clause
/// The `speedwell` command.
#include <fmt/format.h>
#include <unistd.h>
#include <speedwell/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <span>
#include <string_view>

#include "app/arguments.hpp"
#include "app/benchmark_command.hpp"
#include "app/check_command.hpp"
#include "app/compare_command.hpp"
#include "app/environment_check.hpp"
#include "app/files.hpp"
#include "app/info.hpp"
#include "app/mpi_launch.hpp"
#include "app/output.hpp"
#include "app/predictions.hpp"
#include "app/profile_place.hpp"
#include "app/solve_command.hpp"
#include "app/submission_folder.hpp"
#include "app/tune_command.hpp"
#include "comm/agreement.hpp"
#include "comm/communicator.hpp"
#include "comm/run_watch.hpp"
#include "cpu/isa.hpp"
#include "host/blas_kernels.hpp"
#include "host/blas_library.hpp"
#include "host/floating_point.hpp"

namespace speedwell {
namespace {

/// CUDA has eight connections to a GPU by default, and streams that share a connection wait for
/// each other. Speedwell has more than eight streams. And a kernel that is loaded at its first
/// launch may wait for the whole GPU, on which a kernel of NCCL may wait for another rank that
/// needs this one. Values that the user set stay. But how cuBLAS computes is no matter of the
/// environment: Speedwell tells each handle (device/cuda/blas_emulation.hpp), and no documentation
/// says that this prevails over each of these.
void prepare_cuda() {
  for (const char* variable :
       {"CUBLAS_EMULATE_DOUBLE_PRECISION", "CUBLAS_EMULATE_SINGLE_PRECISION",
        "CUBLAS_EMULATION_STRATEGY", "CUBLAS_EMULATION_SPECIAL_VALUES_SUPPORT_MASK",
        "CUBLAS_FIXEDPOINT_EMULATION_MANTISSA_BIT_COUNT"})
    ::unsetenv(variable);
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  ::setenv("CUDA_MODULE_LOADING", "EAGER", 0);
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? value : "";
}

/// `speedwell predict` simulates all ranks in one process, on SimGrid's MPI: a program of its own
/// takes the place of this one. Returns the exit status where there is nothing to predict, and
/// nothing where the command is one for this program: ranks of a launcher refuse together.
std::optional<int> predict(int argc, char** argv) {
  if (argc < 2 || std::string_view(argv[1]) != "predict" || launched_as_several())
    return std::nullopt;
  const Arguments arguments = parse_arguments({argv + 1, argv + argc});
  if (arguments.command == Command::calibrate) return std::nullopt;
  const std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe").replace_filename("speedwell-predict");
  ::execv(program.c_str(), argv);
  throw UsageError(fmt::format("{} cannot be started: {}; allowed: where it is beside speedwell",
                               program.string(), std::strerror(errno)));
}

ProfilePlace place_of_profile(const Arguments& arguments) {
  return profile_place(arguments.profile, {.profile = environment("SPEEDWELL_PROFILE"),
                                           .configuration = environment("XDG_CONFIG_HOME"),
                                           .home = environment("HOME")});
}

/// Has the BLAS of --blas, or else of SPEEDWELL_BLAS, loaded before its first call.
/// @throws UsageError
void choose_blas(Arguments& arguments) {
  if (arguments.blas.empty())
    arguments.blas = environment("SPEEDWELL_BLAS");
  else
    ::setenv("SPEEDWELL_BLAS", arguments.blas.c_str(), 1);
  is_other_blas();
}

/// Refuses `speedwell predict` where it was not built, but for its help.
void require_predictions(std::span<const std::string> given) {
  if (given.empty() || given[0] != "predict" || why_no_predictions().empty()) return;
  const auto helps = [](const std::string& word) { return word == "-h" || word == "--help"; };
  if (std::ranges::none_of(given, helps)) throw UsageError(std::string(why_no_predictions()));
}

/// The text of a command that prints one. Help of `predict` says whether it was built.
std::string printed(std::span<const std::string> given, std::string text) {
  const bool is_help = !given.empty() && (given[0] == "predict" || given[0] == "help");
  if (is_help && std::ranges::count(given, "predict") > 0 && !why_no_predictions().empty())
    text += fmt::format("\nNot here: {}\n", why_no_predictions());
  return text;
}

/// Runs what needs neither other ranks nor MPI where no launcher has started several: so that it
/// works where MPI does not, as on a node for logging in or building. Refuses bad words too.
/// Returns nothing where there is more to do.
std::optional<int> run_alone(const std::vector<std::string>& words) {
  if (launched_as_several()) return std::nullopt;
  const std::vector<std::string> given(words.begin() + 1, words.end());
  require_predictions(given);
  Arguments arguments = parse_arguments(given);
  int status = 0;
  if (arguments.command == Command::print) {
    print(printed(given, arguments.text));
  } else if (arguments.command == Command::info) {
    allowed_cpu_isa();
    choose_blas(arguments);
    check_files(arguments, {});
    run_info(arguments.json, 1, [] { return CoreShare{processor_info()}; });
  } else if (arguments.command == Command::verify) {
    status = verify_submission(arguments.submission);
  } else {
    return std::nullopt;
  }
  return std::max(status, lost_status());
}

/// The arguments of the command line, the same on all ranks.
Arguments read_arguments(const Communicator& world, const std::vector<std::string>& words) {
  const std::vector<std::string> given(words.begin() + 1, words.end());
  Arguments arguments = agreed(world, [&] {
    allowed_cpu_isa();
    require_predictions(given);
    return parse_arguments(given);
  });
  // Ranks of different commands would wait for each other's messages.
  require_equal_options(
      world, {{"command", arguments.command == Command::print ? "help or version" : words[1]}});
  arguments.program = words[0];
  if (!arguments.predict.on || arguments.command == Command::calibrate)
    agree(world, [&] { choose_blas(arguments); });
  return arguments;
}

int run_command(const Communicator& world, const std::vector<std::string>& words) {
  std::vector<std::string> notes;
  Arguments arguments = read_arguments(world, words);
  if (const std::string& kernels = settle_blas_kernels(); !kernels.empty() && !is_other_blas())
    notes.push_back(kernels);
  if (arguments.predict.on && arguments.command != Command::calibrate &&
      arguments.command != Command::print)
    throw UsageError("predict simulates all ranks in one process; allowed: without mpirun");
  RunOptions& run = run_options(arguments);
  switch (arguments.command) {
    case Command::mxp:
    case Command::hpl:
    case Command::bench:
    case Command::compare:
    case Command::tune:
    case Command::check:
    case Command::solve:
      if (const auto threads = positive_number(std::getenv("OMP_NUM_THREADS"));
          threads && run.threads == 0) {
        run.threads = *threads;
        notes.push_back(fmt::format("threads are those of OMP_NUM_THREADS={}", *threads));
      }
      for (const std::string& line :
           environment_differences(world, environment_here(host_name(), ::environ))) {
        complain("warning: " + line);
        notes.push_back(line);
      }
      if (arguments.command == Command::solve)
        return run_solve(world, arguments, place_of_profile(arguments), quoted(words), notes);
      if (arguments.command == Command::compare)
        return run_compare(world, arguments, place_of_profile(arguments), quoted(words), notes);
      if (arguments.command == Command::check)
        return run_check(world, arguments, quoted(words), notes);
      if (arguments.command == Command::tune)
        return run_tune(world, arguments, place_of_profile(arguments), quoted(words), notes);
      return run_benchmarks(world, arguments, place_of_profile(arguments), quoted(words), notes);
    case Command::calibrate:
      return run_calibration(world, arguments);
    case Command::info: {
      CoreShare share = core_share(world);
      on_rank_0(world, [&] {
        check_files(arguments, {});
        run_info(arguments.json, world.size(), [&] { return share; });
      });
      return 0;
    }
    case Command::verify: {
      std::int64_t status = 0;
      on_rank_0(world, [&] { status = verify_submission(arguments.submission); });
      world.broadcast(std::span(&status, 1), 0);
      return static_cast<int>(status);
    }
    case Command::print:
      on_rank_0(world, [&] { print(printed(std::span(words).subspan(1), arguments.text)); });
      return 0;
  }
  return 0;
}

/// The limit of --stall-timeout, before the ranks can agree that the command line is a good one,
/// and at least the time that a launcher may need to start or end all ranks.
double launch_limit(const std::vector<std::string>& words) {
  constexpr double least = 5;
  try {
    const Arguments given = parse_arguments({words.begin() + 1, words.end()});
    const double limit = run_options(given).stall_timeout;
    return limit > 0 ? std::max(limit, least) : 0;
  } catch (const UsageError&) {
    return default_stall_timeout;
  }
}

int run(int& argc, char**& argv) {
  const FloatingPointScope floating_point;  // libraries that are loaded first may have changed it
  const double limit = launch_limit({argv, argv + argc});
  std::optional<ProcessWatch> watch;  // outlives what it watches
  watch.emplace(limit, "to start", "MPI_Init");
  start_without_daemon();
  std::optional<MpiStartGuard> guard(std::in_place);
  const MpiSession mpi(argc, argv);
  guard.reset();
  const SteadyClock clock;
  const RunWatch between_runs(comm_world(), clock, limit);
  const RunContext context(clock, between_runs.stalls());
  const Communicator world = Communicator::duplicate(comm_world(), context);
  watch.reset();
  const Ending ending = ending_of([&] {
    const std::int64_t status = run_command(world, {argv, argv + argc});
    return static_cast<int>(
        world.all_reduce(std::max<std::int64_t>(status, lost_status()), Reduction::max));
  });
  if (!ending.everywhere) {
    complain(fmt::format("rank {} on {}: {}", world.rank(), host_name(), ending.complaint));
    world.abort(ending.status);
  }
  if (world.rank() == 0) finish(ending);
  // A launcher may kill all ranks as soon as one exits with a status: so rank 0 writes its line
  // before any rank exits.
  watch.emplace(limit, "to end", "MPI_Finalize");
  world.barrier();
  return ending.status;
}

}  // namespace
}  // namespace speedwell

int main(int argc, char** argv) {
  ::alarm(0);  // set by start_limit.cpp
  return speedwell::finish(speedwell::ending_of([&] {
    speedwell::prepare_streams();
    if (const auto status = speedwell::run_alone({argv, argv + argc})) return *status;
    if (const auto status = speedwell::predict(argc, argv)) return *status;
    speedwell::prepare_cuda();
    speedwell::settle_blas_kernels();  // before MPI's threads run
    return speedwell::run(argc, argv);
  }));
}
